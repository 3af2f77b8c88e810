package webapi_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// The log says why a context cannot be opened, including the reason of TLS.
func TestConnectLog(t *testing.T) {
	cert := tlstest.NewCA(t, "ca").Issue(t, "web1", tlstest.Leaf{})
	srv := &collector.Server{Logger: slog.New(slog.DiscardHandler), TLS: &tls.Config{Certificates: []tls.Certificate{cert.TLS}}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.Background(), ln) }()
	t.Cleanup(func() { srv.Close(); <-served })
	log := new(pcptest.LogBuffer)
	s := serve(t, &webapi.Gateway{Dialer: &pmapi.Dialer{TLS: &tls.Config{}}, Allow: []string{"localhost:*"}, Log: slog.New(slog.NewTextHandler(log, nil))})
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r := s.get(t, "/pmapi/context?hostspec=pcps://localhost:"+port)
	const reason = "x509: certificate signed by unknown authority"
	if text := log.String(); r.status != 400 || !strings.Contains(r.body, reason) || !strings.Contains(text, `level=WARN msg="a context cannot be opened" addr=127.0.0.1:`) ||
		!strings.Contains(text, reason) {
		t.Errorf("%d %s; log, want %q:\n%s", r.status, r.body, reason, text)
	}
}
