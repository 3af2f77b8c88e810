// Package ctxlock is a mutual exclusion lock for which one waits no longer than a context
// lasts.
package ctxlock

import "context"

// A Mutex is the lock, made by New: a channel with one place, which whoever has the lock has
// filled. Safe for concurrent use.
type Mutex chan struct{}

// New returns a Mutex that nobody has.
func New() Mutex { return make(Mutex, 1) }

// Lock waits for the lock. It fails with the cause of ctx when ctx ends before; a lock that is
// free is got even then.
func (m Mutex) Lock(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TryLock takes the lock if it is free.
func (m Mutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock gives the lock back, which the caller has.
func (m Mutex) Unlock() { <-m }
