package collectortest

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmda"
)

// A Server is what the helpers use of a collector.Server.
type Server interface {
	io.Closer
	Add(h pmda.Handler) error
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	Serve(ctx context.Context, listeners ...net.Listener) error
}

// ServeTCP runs a Server with a listener on the loopback interface until the test
// ends.
func ServeTCP(t testing.TB, s Server) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// CloseAtEnd closes a Server at the end of a test.
func CloseAtEnd[S Server](t testing.TB, s S) S {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Add adds agents.
func Add(t testing.TB, s Server, agents ...pmda.Handler) {
	t.Helper()
	for _, a := range agents {
		if err := s.Add(a); err != nil {
			t.Fatal(err)
		}
	}
}

// Eventually waits for what other goroutines bring about.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	const limit = time.Minute
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not happen in %v", what, limit)
}
