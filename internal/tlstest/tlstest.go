// Package tlstest makes certificates for tests.
package tlstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Leaf describes a certificate. The zero value is valid now, for 127.0.0.1, ::1 and localhost,
// and for any use.
type Leaf struct {
	Hosts   []string           // names and addresses
	Usages  []x509.ExtKeyUsage // nil: the certificate does not say
	Expired bool
	// Netscape is the use in the manner of Netscape: bits of a first byte, 0x80 for clients, 0x40
	// for servers; 0: the certificate does not say.
	Netscape byte
	RSA      bool // a key of 2048 bits in place of one of P-256
}

// A Cert is a certificate with its key, and files of both.
type Cert struct {
	TLS               tls.Certificate
	X509              *x509.Certificate
	CertFile, KeyFile string // PEM
}

// A CA is a certificate authority.
type CA struct {
	*Cert
	dir string
}

// NewCA makes an authority, whose files are removed with the test.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	dir := t.TempDir()
	return &CA{make1(t, dir, name, Leaf{}, nil, true), dir}
}

// Pool is a pool with the authority alone.
func (ca *CA) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(ca.X509)
	return p
}

// Issue makes a certificate that the authority vouches for.
func (ca *CA) Issue(t testing.TB, name string, l Leaf) *Cert {
	t.Helper()
	return make1(t, ca.dir, name, l, ca.Cert, false)
}

// SelfSigned makes a certificate that only itself vouches for.
func SelfSigned(t testing.TB, name string, l Leaf) *Cert {
	t.Helper()
	return make1(t, t.TempDir(), name, l, nil, false)
}

// make1 makes a certificate; by is nil for one that signs itself.
func make1(t testing.TB, dir, name string, l Leaf, by *Cert, isCA bool) *Cert {
	t.Helper()
	key := newKey(t, l.RSA)
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	must(t, err)
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: l.Usages, BasicConstraintsValid: true, IsCA: isCA,
	}
	if isCA {
		c.KeyUsage |= x509.KeyUsageCertSign
	} else {
		addHosts(c, l.Hosts)
	}
	if l.Netscape != 0 {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 16, 840, 1, 113730, 1, 1},
			Value: []byte{asn1.TagBitString, 2, 0, l.Netscape}})
	}
	if l.Expired {
		c.NotAfter = now.Add(-24 * time.Hour)
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.X509, by.TLS.PrivateKey.(crypto.Signer)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	must(t, err)
	made, err := x509.ParseCertificate(der)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	out := &Cert{TLS: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: made}, X509: made,
		CertFile: filepath.Join(dir, serial.Text(16)+".crt"), KeyFile: filepath.Join(dir, serial.Text(16)+".key")}
	write(t, out.CertFile, "CERTIFICATE", der)
	write(t, out.KeyFile, "PRIVATE KEY", pkcs8)
	return out
}

func addHosts(c *x509.Certificate, hosts []string) {
	if hosts == nil {
		hosts = []string{"127.0.0.1", "::1", "localhost"}
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
}

func newKey(t testing.TB, isRSA bool) (key crypto.Signer) {
	t.Helper()
	var err error
	if isRSA {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	must(t, err)
	return key
}

// write writes a file that a server can read that has given up the privileges of the test.
func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
