// Package cutoff ends waits on a stream: at a time, or with a context.
package cutoff

import (
	"context"
	"sync"
	"time"
)

// A Watch makes the end of a context end the wait of one goroutine at a time. It
// stays for the next wait, which usually has the same context, since to set one
// up costs more than all else in a short exchange. Safe for concurrent use.
type Watch struct {
	// Set sets the deadline of the stream, of reads, writes, or both. It is set
	// before the first use.
	Set func(time.Time) error

	mu      sync.Mutex
	waiting <-chan struct{} // the end of the context of the present wait; nil if none is watched
	watched <-chan struct{} // the end that stop stops to watch
	stop    func() bool     // or nil
	closed  bool
}

// past is a deadline that makes a read or write return.
var past = time.Unix(1, 0)

// Begin lets what follows, up to End, end at limit, if that is not zero, or with
// ctx: the stream then fails with os.ErrDeadlineExceeded. If ctx has ended, the
// interruption comes: it is on its way, or was here and has forgotten ctx.
func (w *Watch) Begin(ctx context.Context, limit time.Time) {
	end := ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	if end != w.watched && !w.closed {
		w.forget()
		if end != nil {
			w.watched = end
			w.stop = context.AfterFunc(ctx, func() { w.interrupt(end) })
		}
	}
	w.waiting = end
	w.Set(limit)
}

// End ends the wait. The deadline stays as it is.
func (w *Watch) End() {
	w.mu.Lock()
	w.waiting = nil
	w.mu.Unlock()
}

// Close lets go of the context. Waits that begin later end at their limit alone.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.forget()
}

// interrupt ends the wait of the context that has ended, if there is one.
func (w *Watch) interrupt(end <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == end {
		w.Set(past)
	}
	if w.watched == end {
		w.forget()
	}
}

func (w *Watch) forget() {
	if w.stop != nil {
		w.stop()
	}
	w.watched, w.stop = nil, nil
}
