// Package tlsconf reads tls.conf, which tells PCP's servers and clients where their certificates
// are, in lines KEY=VALUE. It is for main packages, and for what they take from the environment.
package tlsconf

import (
	"crypto/tls"
	"io"
	"os"
	"strings"
)

// maxFile is how much is read of a file: of tls.conf, of certificates, of keys.
const maxFile = 1 << 20

// A Conf holds the settings of a file. A missing setting is empty.
type Conf struct {
	CertFile, KeyFile             string // of a server; of a client too, unless it has its own
	ClientCertFile, ClientKeyFile string
	CAFile, CADir                 string
	Ciphers, CipherSuites         string // up to TLS 1.2, and of TLS 1.3
	VerifyClients                 string // whether a client looks at the certificate of the server
	VerifyHost                    string // and at the host's name in it: ours alone
}

// key is the setting of a keyword, nil if there is no such keyword.
func (c *Conf) key(keyword string) *string {
	switch keyword {
	case "tls-cert-file":
		return &c.CertFile
	case "tls-key-file":
		return &c.KeyFile
	case "tls-client-cert-file":
		return &c.ClientCertFile
	case "tls-client-key-file":
		return &c.ClientKeyFile
	case "tls-ca-cert-file":
		return &c.CAFile
	case "tls-ca-cert-dir":
		return &c.CADir
	case "tls-ciphers":
		return &c.Ciphers
	case "tls-ciphersuites":
		return &c.CipherSuites
	case "tls-verify-clients":
		return &c.VerifyClients
	case "tls-verify-host":
		return &c.VerifyHost
	}
	return nil
}

// Load reads a file. One that cannot be read is empty, as for PCP.
func Load(path string) Conf {
	text, err := readFile(path)
	if err != nil {
		return Conf{}
	}
	return Parse(string(text))
}

// Parse reads the text of a file. It ignores unknown settings. Unlike PCP it does not know
// abbreviated keywords.
func Parse(text string) Conf {
	const blanks = " \t\r\v\f"
	var c Conf
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		i := strings.IndexAny(line, "=:")
		if i < 0 {
			continue
		}
		value := strings.TrimLeft(line[i+1:], blanks)
		if end := strings.IndexAny(value, blanks); end >= 0 {
			value = value[:end]
		}
		if set := c.key(strings.Trim(line[:i], blanks)); set != nil && value != "" {
			*set = value
		}
	}
	return c
}

// readFile is os.ReadFile with a limit.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// An Error says what setting cannot be used, in PCP's words, and why.
type Error struct {
	Text string // with the file or the value
	Err  error  // nil if the text says it
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Server makes the configuration of a server, or returns nil if there is no certificate. It
// requests certificates of clients only if an authority can vouch for them. C pmcd always requests
// them, and without an authority it disconnects clients that send one.
func (c Conf) Server() (*tls.Config, error) {
	if c.CertFile == "" {
		return nil, nil
	}
	if c.KeyFile == "" {
		return nil, &Error{Text: "no private key found: " + c.CertFile + " needs tls-key-file"}
	}
	cert, err := loadPair(c.CertFile, c.KeyFile, "certificate chain", "private key")
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		DynamicRecordSizingDisabled: true, // or a long reply is many short writes
		SessionTicketsDisabled:      true, // clients stay connected and do not come back with one
	}
	if config.ClientCAs, err = c.authorities("client CA list"); err != nil {
		return nil, err
	}
	if config.ClientCAs != nil {
		config.ClientAuth = tls.VerifyClientCertIfGiven
		config.VerifyConnection = func(s tls.ConnectionState) error { return checkNetscape(s.PeerCertificates, netscapeClient) }
	}
	return config, c.setCiphers(config)
}

// Client makes the configuration of a client. The caller adds the ServerName. As in PCP, the
// certificate of the server is looked at only with tls-verify-clients, and the name of the host in
// it only with tls-verify-host.
func (c Conf) Client() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true}
	var err error
	if config.RootCAs, err = c.authorities("CA Certificate list"); err != nil {
		return nil, err
	}
	cert, err := c.clientPair()
	if err != nil {
		return nil, err
	}
	if cert != nil { // also if the server says that it trusts others: it is the server that decides
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	if !isTrue(c.VerifyHost) {
		config.InsecureSkipVerify = true
		if isTrue(c.VerifyClients) {
			config.VerifyConnection = verifyChain(config.RootCAs)
		}
	}
	return config, c.setCiphers(config)
}

// isTrue is what counts as yes.
func isTrue(v string) bool { return v == "true" || v == "yes" }

// clientPair is the certificate of a client, if it has one: its own, or else that of the server.
func (c Conf) clientPair() (*tls.Certificate, error) {
	certFile, keyFile, certName, keyName := c.ClientCertFile, c.ClientKeyFile, "client certificate chain", "client private key"
	if certFile == "" {
		certFile, keyFile, certName, keyName = c.CertFile, c.KeyFile, "certificate chain", "private key"
	}
	if certFile == "" || keyFile == "" {
		return nil, nil
	}
	cert, err := loadPair(certFile, keyFile, certName, keyName)
	if err != nil {
		return nil, err
	}
	return &cert, nil
}
