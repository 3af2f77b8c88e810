package ctxwait

import "context"

// A Mutex is a mutual exclusion lock whose Lock returns when a context ends. It is a channel with
// one place, which the holder of the lock has filled. Safe for concurrent use.
type Mutex chan struct{}

// NewMutex returns an unlocked Mutex.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock locks m. It waits for the lock until ctx ends, and then fails with the cause of ctx. It
// locks a free m even if ctx has ended.
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

// TryLock locks m if it is free, and reports whether it did.
func (m Mutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock unlocks m, which the caller has locked.
func (m Mutex) Unlock() { <-m }
