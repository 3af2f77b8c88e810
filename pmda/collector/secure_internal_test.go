package collector

import (
	"crypto/tls"
	"testing"
)

// TestNoClientCAs checks that no client certificate is accepted if RequireClientCert is set
// without ClientCAs. In particular, the authorities of the system are not used.
func TestNoClientCAs(t *testing.T) {
	s := &Server{RequireClientCert: true}
	if c := s.newTLSSetup(&tls.Config{}).config; c.ClientCAs == nil || c.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Errorf("authorities %v, %v", c.ClientCAs, c.ClientAuth)
	}
}
