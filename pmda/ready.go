package pmda

import "sync/atomic"

// readiness has a channel that is closed when the Agent is ready. It is nil at first.
type readiness struct{ atomic.Pointer[chan struct{}] }

// closed is the closed channel of an Agent that has become ready.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// SetReady sets whether the Agent is ready for requests. An Agent is ready at first unless
// StartsNotReady is set. While it is not ready, its requests fail and clients get pdu.ErrAgain. A
// collector in another process sends no requests until the Agent reports that it is ready.
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

// WhenReady returns a channel that is closed when the Agent becomes ready. It is closed already if
// the Agent is ready.
func (a *Agent) WhenReady() <-chan struct{} {
	if a.isReady() {
		return closed
	}
	c := make(chan struct{})
	a.ready.CompareAndSwap(nil, &c) // the first channel of an Agent that starts not ready
	return *a.ready.Load()
}

func (a *Agent) isReady() bool {
	c := a.ready.Load()
	return c == nil && !a.StartsNotReady || c == &closed
}

// announcesReady reports whether the collector waits for a notice that the agent is ready.
func (a *Agent) announcesReady() bool { return a.StartsNotReady }
