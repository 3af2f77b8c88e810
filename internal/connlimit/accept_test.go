package connlimit_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
)

// A failingListener fails some times for lack of descriptors, and then because it is closed.
type failingListener struct {
	net.Listener
	left int
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.left--; l.left >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return nil, net.ErrClosed
}

func TestAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := connlimit.Accept(t.Context(), &failingListener{left: 10}, connlimit.Temporary)
		if got, want := time.Since(began), (5+10+20+40+80+160+320+640+1000+1000)*time.Millisecond; !errors.Is(err, net.ErrClosed) || got != want {
			t.Errorf("got %v after %v, want %v after %v", err, got, net.ErrClosed, want)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, context.Canceled)
		defer cancel()
		if _, err := connlimit.Accept(ctx, &failingListener{left: 10}, connlimit.Temporary); err != context.Canceled {
			t.Errorf("got %v, want the cause of the context", err)
		}
	})
}
