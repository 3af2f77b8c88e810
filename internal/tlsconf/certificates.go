package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

var errNoCertificate = errors.New("no certificate is in it")

// loadPair loads a certificate, with those between it and its authority, and its key.
func loadPair(certFile, keyFile, certName, keyName string) (tls.Certificate, error) {
	chain, err := readFile(certFile)
	if err == nil {
		err = checkChain(chain)
	}
	if err != nil {
		return tls.Certificate{}, &Error{"Cannot load " + certName + " from " + certFile, err}
	}
	var cert tls.Certificate
	key, err := readFile(keyFile)
	if err == nil {
		if cert, err = tls.X509KeyPair(chain, key); err != nil {
			err = fmt.Errorf("%w: it has to be the key of the certificate in %s", err, certFile)
		}
	}
	if err != nil {
		return tls.Certificate{}, &Error{"Cannot load " + keyName + " from " + keyFile, err}
	}
	return cert, nil
}

// checkChain is why a text has no certificate first.
func checkChain(text []byte) error {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return errNoCertificate
		}
		if block.Type == "CERTIFICATE" {
			_, err := x509.ParseCertificate(block.Bytes)
			return err
		}
	}
}

// maxAuthorities is how many files of a directory of authorities are read.
const maxAuthorities = 4096

// authorities are those of the file and of the directory, nil if neither is given.
func (c Conf) authorities(name string) (*x509.CertPool, error) {
	if c.CAFile == "" && c.CADir == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if c.CAFile != "" {
		text, err := readFile(c.CAFile)
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = errNoCertificate
		}
		if err != nil {
			return nil, &Error{"Cannot load the " + name + " from " + c.CAFile, err}
		}
	}
	if c.CADir == "" {
		return pool, nil
	}
	entries, err := os.ReadDir(c.CADir)
	if err != nil {
		return nil, &Error{"Cannot load the " + name + " from " + c.CADir, err}
	}
	for _, e := range entries[:min(len(entries), maxAuthorities)] {
		path := filepath.Join(c.CADir, e.Name())
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue // it may be a pipe, of which a read does not return
		}
		if text, err := readFile(path); err == nil {
			pool.AppendCertsFromPEM(text) // what is none is of no use
		}
	}
	return pool, nil
}

// netscapeUse is the extension that says what a certificate is for in the manner of Netscape, which
// OpenSSL still minds: a bit string.
var netscapeUse = asn1.ObjectIdentifier{2, 16, 840, 1, 113730, 1, 1}

// Its bits for the ends of a connection.
const (
	netscapeClient = 0
	netscapeServer = 1
)

var errNetscapeUse = errors.New("the certificate is not for this end of a connection, by its Netscape Cert Type")

// checkNetscape returns why the first certificate does not suit an end of a connection.
// Certificates without the extension suit any end.
func checkNetscape(certs []*x509.Certificate, end int) error {
	if len(certs) == 0 {
		return nil
	}
	for _, e := range certs[0].Extensions {
		var bits asn1.BitString
		if !e.Id.Equal(netscapeUse) {
			continue
		}
		if _, err := asn1.Unmarshal(e.Value, &bits); err != nil || bits.At(end) == 0 {
			return errNetscapeUse
		}
	}
	return nil
}

// verifyChain checks that one of roots vouches for a server, which may have any name. Nil roots are
// the authorities of the system.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errNoCertificate
		}
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range s.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		if _, err := s.PeerCertificates[0].Verify(opts); err != nil {
			return err
		}
		return checkNetscape(s.PeerCertificates, netscapeServer)
	}
}
