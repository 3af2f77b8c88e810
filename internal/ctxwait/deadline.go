// Package ctxwait limits waits by contexts: locks, and reads and writes of streams, such as a
// net.Conn, which know only deadlines.
package ctxwait

import (
	"context"
	"sync"
	"time"
)

// A Deadline ends reads and writes of a stream at a time, or when a context
// ends. One goroutine at a time may wait under it. It keeps watching the last
// context between waits, since the next wait usually has the same, and to start
// watching costs more than all else in a short exchange. Safe for concurrent use.
type Deadline struct {
	// Set sets the deadline of the stream, of reads, writes, or both. It is set
	// before the first use.
	Set func(time.Time) error

	mu      sync.Mutex
	current <-chan struct{} // Done of the context of the present wait; nil if there is none
	watched <-chan struct{} // Done of the context that is being watched
	unwatch func() bool     // stops watching; nil if nothing is watched
	closed  bool
}

// past is a deadline that makes a read or write return.
var past = time.Unix(1, 0)

// Start makes reads and writes up to Stop fail with os.ErrDeadlineExceeded at
// limit, if that is not zero, or once ctx has ended, which may be before Start.
func (d *Deadline) Start(ctx context.Context, limit time.Time) {
	done := ctx.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	// If ctx has ended, expire either is about to be called or has forgotten ctx,
	// which is then watched anew.
	if done != d.watched && !d.closed {
		d.forget()
		if done != nil {
			d.watched = done
			d.unwatch = context.AfterFunc(ctx, func() { d.expire(done) })
		}
	}
	d.current = done
	d.Set(limit)
}

// Stop ends the wait. The deadline of the stream stays as it is.
func (d *Deadline) Stop() {
	d.mu.Lock()
	d.current = nil
	d.mu.Unlock()
}

// Close stops watching. Waits that start later end at their limit alone.
func (d *Deadline) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.forget()
}

// expire ends the present wait if its context is the one that has ended.
func (d *Deadline) expire(done <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == done {
		d.Set(past)
	}
	if d.watched == done {
		d.forget()
	}
}

// forget stops watching.
func (d *Deadline) forget() {
	if d.unwatch != nil {
		d.unwatch()
	}
	d.watched, d.unwatch = nil, nil
}
