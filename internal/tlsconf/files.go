package tlsconf

import (
	"crypto/tls"
	"errors"
)

// Files makes the configuration of a client that trusts the authorities in caFile, or those of the
// system if it is "", and presents the certificate in certFile, or none if that is "". Unlike
// Conf.Client it always verifies the server and its name.
func Files(caFile, certFile, keyFile string) (*tls.Config, error) {
	if (certFile == "") != (keyFile == "") {
		return nil, errors.New("a certificate and its key go together")
	}
	return Conf{CAFile: caFile, ClientCertFile: certFile, ClientKeyFile: keyFile, VerifyHost: "true"}.Client()
}
