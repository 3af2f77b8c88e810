//go:build unix

package main

import (
	"crypto/tls"
	"errors"
	"testing"

	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pmapi"
)

// presented is whether a collector has a certificate that an authority vouches for.
func presented(t *testing.T, host string, ca *tlstest.CA) string {
	t.Helper()
	d := &pmapi.Dialer{TLS: &tls.Config{RootCAs: ca.Pool()}}
	c, err := d.Dial(t.Context(), "pcps://"+host)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "no TLS"
	case err != nil:
		return err.Error()
	}
	c.Close()
	return "good"
}
