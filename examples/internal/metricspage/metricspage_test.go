package metricspage

import (
	"net"
	"strings"
	"testing"
)

// The log says who sees a page that listens beyond this computer.
func TestWhoSees(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1": "", "::1": "", "0.0.0.0": "each client that reaches 0.0.0.0:44323", "::": "each client", "192.0.2.1": "each client"} {
		got := whoSees(&net.TCPAddr{IP: net.ParseIP(addr), Port: 44323}, false, false)
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
}
