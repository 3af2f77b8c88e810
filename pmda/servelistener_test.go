package pmda_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
)

// fakeListener accepts the connections that the test gives it.
type fakeListener struct {
	accepts chan any // net.Conn or error
	closed  chan struct{}
}

func newFakeListener() *fakeListener {
	return &fakeListener{make(chan any), make(chan struct{})}
}

func (l *fakeListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepts:
		if conn, ok := a.(net.Conn); ok {
			return conn, nil
		}
		return nil, a.(error)
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *fakeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (*fakeListener) Addr() net.Addr { return &net.UnixAddr{Name: "s", Net: "unix"} }

// TestServeListener checks that the next collector is served when one has disconnected or its
// connection has failed.
func TestServeListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		a := clockAgent()
		a.Logger = logLines(&log)
		l := newFakeListener()
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error)
		go func() { served <- pmda.ServeListener(ctx, a, l) }()
		connect := func() *peer {
			near, far := net.Pipe()
			l.accepts <- far
			return newPeer(t, &pdutest.Peer{Conn: pdu.NewConn(near), Stream: near})
		}
		for range 3 {
			p := connect()
			if d := p.domain(); d != 251 {
				t.Errorf("the domain is %d", d)
			}
			p.Stream.Close()
		}
		if log.String() != "" {
			t.Errorf("logged %q", log.String())
		}
		near, far := net.Pipe()
		l.accepts <- far
		near.Close() // without a version exchange
		silent, far := net.Pipe()
		defer silent.Close()
		go io.Copy(io.Discard, silent)
		l.accepts <- far // it sends nothing
		begin := time.Now()
		l.accepts <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		if d := time.Since(begin); d != 10*time.Second {
			t.Errorf("a silent peer was served for %v", d)
		}
		p := connect()
		p.domain()
		for want, times := range map[string]int{"connection to the collector failed; waiting for another": 2, "cannot accept a collector": 1} {
			if n := strings.Count(log.String(), want); n != times {
				t.Errorf("%d times %q in the log %q", n, want, log.String())
			}
		}
		time.Sleep(time.Hour)
		p.domain() // whose connection has no limit
		end := errors.New("the end")
		cancel(end)
		if err := <-served; err != end {
			t.Errorf("ServeListener: %v, want %v", err, end)
		}
		<-l.closed
	})
}

// TestServeListenerFails checks the errors that end ServeListener before its context ends.
func TestServeListenerFails(t *testing.T) {
	broken := errors.New("broken")
	l := newFakeListener()
	go func() { l.accepts <- broken }()
	var none *pmda.Agent
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"accept", pmda.ServeListener(t.Context(), clockAgent(), l), "pmda: accept a collector: broken"},
		{"no Handler", pmda.ServeListener(t.Context(), nil, newFakeListener()), "pmda: serve: the Handler is nil"},
		{"no agent", pmda.ServeListener(t.Context(), none, newFakeListener()), "pmda: serve: the *Agent is nil"},
		{"no listener", pmda.ServeListener(t.Context(), clockAgent(), nil), "pmda: serve: the listener is nil: look at the error of net.Listen"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	select {
	case <-l.closed:
	case <-time.After(time.Minute):
		t.Error("the listener is open")
	}
}
