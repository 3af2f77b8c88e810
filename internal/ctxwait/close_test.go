package ctxwait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A slowCloser takes a second to close. Its second Close fails at once, as that of a net.Listener.
type slowCloser struct{ calls, closed int }

func (c *slowCloser) Close() error {
	if c.calls++; c.calls > 1 {
		return errors.New("closed already")
	}
	time.Sleep(time.Second)
	c.closed++
	return nil
}

func TestCloseAfter(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var c slowCloser
			closeNow := CloseAfter(ctx, &c)
			if ends {
				cancel()
				time.Sleep(time.Second / 2) // Close is under way
			}
			closeNow()
			closeNow()
			if want := (slowCloser{calls: 1, closed: 1}); c != want {
				t.Errorf("context ended %v: got %+v, want %+v", ends, c, want)
			}
		})
	}
}
