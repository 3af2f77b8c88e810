package collector

import (
	"crypto/tls"
	"testing"
)

// Where clients need a certificate and no authorities are named, nobody vouches for one: not those
// of the system either.
func TestNoClientCAs(t *testing.T) {
	s := &Server{RequireClientCert: true}
	if c := s.newTLSSetup(&tls.Config{}).config; c.ClientCAs == nil || c.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Errorf("authorities %v, %v", c.ClientCAs, c.ClientAuth)
	}
}
