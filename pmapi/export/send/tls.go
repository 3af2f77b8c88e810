package send

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// TLS says which receivers a Sender trusts, and who it is itself. Files are PEM; the zero value trusts whom the system trusts.
type TLS struct {
	CAFile            string // authorities that certify receivers, in place of the system's
	CertFile, KeyFile string // the sender's certificate, and its key, for receivers that ask for one
	Insecure          bool   // trust any receiver
}

// Client makes a client with these settings, without redirects, that uses proxies as the environment says.
func (t TLS) Client() (*http.Client, error) {
	config := &tls.Config{InsecureSkipVerify: t.Insecure}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("no certificate in %s", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("a certificate and its key go together")
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate of %s and %s: %w", t.CertFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport, CheckRedirect: NoRedirect}, nil
}
