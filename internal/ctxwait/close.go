package ctxwait

import (
	"context"
	"io"
	"sync/atomic"
)

// CloseAfter closes c once ctx ends. The function that it returns closes c at once, and returns
// when c is closed. The second Close of a net.Listener returns before the first one has closed the
// socket, so calling Close on both paths is not enough.
func CloseAfter(ctx context.Context, c io.Closer) (closeNow func()) {
	var begun atomic.Bool
	closed := make(chan struct{})
	closeOnce := func() {
		if begun.CompareAndSwap(false, true) {
			c.Close()
			close(closed)
		}
	}
	stop := context.AfterFunc(ctx, closeOnce)
	return func() {
		stop()
		closeOnce()
		<-closed
	}
}
