package send

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// TLS says which receivers a Sender trusts, and which certificate it presents. Files are PEM. The
// zero value trusts the authorities of the system and presents no certificate.
type TLS struct {
	CAFile            string // authorities to trust, in place of the system's
	CertFile, KeyFile string // the certificate of the sender and its key; both or neither
	Insecure          bool   // trust any receiver
}

// Client returns a client with these settings. It follows no redirects, and uses the proxies of the
// environment.
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
	return &http.Client{Transport: transport, CheckRedirect: SameHost}, nil
}
