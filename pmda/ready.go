package pmda

import "sync/atomic"

// Readiness is what a Handler implements that can be not ready for a time, as an Agent can:
// see Agent.SetReady. Its requests fail with pdu.ErrPMDANotReady meanwhile. Serve and
// collectors find it with As.
type Readiness interface {
	// WhenReady returns a channel that is closed when the Handler is ready, or already is.
	WhenReady() <-chan struct{}
}

// readiness is whether an Agent is ready: a channel that is closed when it is. It is nil at
// first.
type readiness struct{ atomic.Pointer[chan struct{}] }

// closed is the readiness of an Agent that has become ready.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// SetReady says whether the Agent is ready for requests, as it is at first unless
// StartsNotReady is set. One that is not ready fails them, and clients get pdu.ErrAgain; a
// collector in another process sends no more of them until it is told that the Agent is
// ready again.
//
// It is pmdaSendError(3) with PM_ERR_PMDANOTREADY and PM_ERR_PMDAREADY.
func (a *Agent) SetReady(ready bool) {
	if ready {
		if c := a.ready.Swap(&closed); c != nil && c != &closed {
			close(*c)
		}
		return
	}
	c := make(chan struct{})
	if !a.ready.CompareAndSwap(nil, &c) {
		a.ready.CompareAndSwap(&closed, &c)
	}
}

// WhenReady returns a channel that is closed when the Agent is ready, or already is.
func (a *Agent) WhenReady() <-chan struct{} {
	if a.isReady() {
		return closed
	}
	c := make(chan struct{})
	a.ready.CompareAndSwap(nil, &c) // of one that has not been ready yet
	return *a.ready.Load()
}

func (a *Agent) isReady() bool {
	c := a.ready.Load()
	return c == nil && !a.StartsNotReady || c == &closed
}

// announcesReady reports whether the collector waits to be told that the agent is ready.
func (a *Agent) announcesReady() bool { return a.StartsNotReady }
