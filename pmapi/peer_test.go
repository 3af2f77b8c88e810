package pmapi_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// dialFunc makes the connections of a Dialer, or of Local.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

func (f dialFunc) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

// serve returns a connection to f. The connection is closed when f returns.
func serve(t testing.TB, f func(p *pdutest.Peer)) dialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer far.Close()
			f(&pdutest.Peer{Conn: pdu.NewConn(far), Stream: far})
		}()
		t.Cleanup(func() {
			near.Close()
			far.Close()
			<-done
		})
		return near, nil
	}
}

// open returns a context on f.
func open(t testing.TB, d pmapi.Dialer, f func(p *pdutest.Peer)) *pmapi.Context {
	t.Helper()
	c, err := d.Local(t.Context(), serve(t, f))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// replying returns a collector that replies to each request with the result of f, and closes the
// connection for nil.
func replying(features pdu.Features, f func(h pdu.Header, p pdu.PDU) []byte) func(p *pdutest.Peer) {
	return func(p *pdutest.Peer) {
		if pdutest.AcceptClient(features)(p) != nil {
			return
		}
		for {
			h, q, err := p.Receive()
			if err != nil {
				return
			}
			b := f(h, q)
			if b == nil {
				return
			}
			if len(b) == 0 { // an empty write would wait for a reader
				continue
			}
			if _, err := p.Stream.Write(b); err != nil {
				return
			}
		}
	}
}

// frame encodes PDUs with their headers.
func frame(pdus ...pdu.PDU) []byte {
	b := []byte{}
	c := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{nil, writerFunc(func(p []byte) { b = append(b, p...) })})
	for _, p := range pdus {
		if err := c.Write(0, p); err != nil {
			panic(err)
		}
	}
	return b
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
