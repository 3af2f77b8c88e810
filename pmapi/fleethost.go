package pmapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A fleetHost is a host in a fleetLoop.
type fleetHost[T any] struct {
	fleetMember
	l      *fleetLoop[T]
	ctx    context.Context // ends with the loop, or when the host is removed
	cancel context.CancelFunc
	start  chan struct{} // has an element when the host must fetch

	// These are for the goroutine of the host.
	c        *Context
	group    *Group // Fleet.mu guards the pointer
	failures int    // in a row, since the latest values
	used     bool   // there were values on this connection
	first    bool   // there was no connection before

	// Fleet.mu guards these.
	phase   hostPhase
	items   T
	status  HostStatus
	time    time.Time // of the values
	fetched uint64    // the tick of the latest fetch
	began   time.Time // when the latest fetch began
	values  uint64    // the latest tick that has values
	waits   patience  // how long the tick waits for the host
	counted bool      // in fleetLoop.requests
	inTime  bool      // the latest reply was in time; otherwise a tick waits only a part of Wait
	removed bool

	isArchive bool // the context of the present connection is on archives
	shown     bool // a row has said that the host has ended
}

// A hostPhase is what the goroutine of a host does.
type hostPhase uint8

const (
	hostConnects hostPhase = iota // or waits until Backoff allows it
	hostReady                     // waits for a tick
	hostFetches
	hostHasEnded
)

// slowConnection is how long a connection that is being made counts against Fleet.MaxConnecting, so
// that hosts that never reply do not hold up those that do.
const slowConnection = time.Second

var errLate = errors.New("no reply in time")

// run is the goroutine of a host.
func (h *fleetHost[T]) run() {
	defer h.cancel()
	defer h.close()
	for h.connect() {
		for {
			select {
			case <-h.ctx.Done():
				return
			case <-h.start:
			}
			at := h.c.src.Now()
			now, err := h.group.Fetch(h.ctx)
			if h.ctx.Err() != nil {
				return
			}
			if !h.reply(now, err, h.next(at, err)) {
				break
			}
		}
		h.close()
		if !h.used {
			h.failures++
		}
	}
}

// close closes the context, if there is one.
func (h *fleetHost[T]) close() {
	if h.c != nil {
		h.c.Close()
		h.c = nil
	}
}

// connect tries to connect until it succeeds. It reports false if the source has ended, or if the
// host was removed or the loop has ended.
func (h *fleetHost[T]) connect() bool {
	for h.phase != hostHasEnded { // which no other goroutine sets
		if ctxwait.Sleep(h.ctx, h.pause()) != nil {
			return false
		}
		items, g, err := h.dial()
		if h.ctx.Err() != nil {
			return false
		}
		h.connected(items, g, err)
		if err == nil {
			return true
		}
		h.close()
		h.failures++
	}
	return false
}

// pause returns how long to wait before the next attempt to connect.
func (h *fleetHost[T]) pause() time.Duration {
	delays := h.l.f.backoff()
	if h.failures == 0 || len(delays) == 0 {
		return 0
	}
	return delays[min(h.failures, len(delays))-1]
}

// dial opens a context and looks up the names of its group. Unknown names are no error.
func (h *fleetHost[T]) dial() (items T, g *Group, err error) {
	select {
	case h.l.connections <- struct{}{}:
	case <-h.ctx.Done():
		return items, nil, context.Cause(h.ctx)
	}
	release := sync.OnceFunc(func() { <-h.l.connections })
	defer release()
	defer time.AfterFunc(slowConnection, release).Stop()
	if h.c, err = h.open(h.ctx); err != nil {
		return items, nil, err
	}
	g = h.c.Group()
	h.l.f.items.Lock()
	items = h.l.f.Items(g)
	h.l.f.items.Unlock()
	if a := h.c.archive(); a != nil {
		if err := h.c.inTurn(h.ctx, func() error { a.Every(h.l.interval); return nil }); err != nil {
			return items, nil, err
		}
	}
	if err := g.resolve(h.ctx); err != nil && isLost(err) || errors.Is(err, source.ErrEnd) {
		return items, nil, err
	}
	return items, g, nil
}

// next returns the phase after a fetch at the time at, which returned err.
func (h *fleetHost[T]) next(at time.Time, err error) hostPhase {
	isArchive := h.c.archive() != nil
	switch {
	case err == nil:
		return hostReady
	case errors.Is(err, source.ErrEnd), isArchive && h.c.src.Now().Equal(at): // a malformed archive: no next row
		return hostHasEnded
	case !isArchive && isLost(err):
		return hostConnects
	}
	return hostReady
}

// isLost reports whether an error of a group means that further requests on the connection would
// fail: it is neither a reply nor an error of all items.
func isLost(err error) bool {
	op, ok := err.(*OpError)
	if !ok || errors.Is(err, pdu.ErrTooSmall) { // ErrTooSmall is that of a group without items
		return false
	}
	code, ok := op.Err.(pdu.Error)
	return !ok || code == pdu.ErrTimeout || code == pdu.ErrIPC
}

// connected records the outcome of dial.
func (h *fleetHost[T]) connected(items T, g *Group, err error) {
	h.l.f.mu.Lock()
	defer h.l.f.mu.Unlock()
	switch {
	case errors.Is(err, source.ErrEnd):
		h.phase = hostHasEnded
		h.setState(HostEnded, nil)
	case err != nil:
		h.setState(HostDown, err)
	default:
		if !h.first {
			h.status.Reconnects++
		}
		h.inTime = h.first || h.inTime && h.failures == 0
		h.used, h.first = false, false
		h.items, h.group = items, g
		h.phase, h.isArchive = hostReady, h.c.archive() != nil
		h.setState(HostConnecting, h.status.Err)
		if h.waits != noWait && h.l.collecting && !h.removed { // the first tick waits for the values
			h.l.queue = append(h.l.queue, h)
			h.l.startQueued()
			h.l.wakeUp() // so that requests in progress that take long make room for this one
			return
		}
	}
	h.l.settle(h)
}

// reply records the outcome of a fetch and the next phase. It reports whether the connection can be
// used further.
func (h *fleetHost[T]) reply(now time.Time, err error, next hostPhase) bool {
	l := h.l
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	current := h.fetched == l.number
	h.inTime = current && time.Since(l.began) < l.wait
	h.phase = next
	switch {
	case err == nil:
		h.failures, h.used = 0, true
		if current && l.collecting {
			h.values, h.time = l.number, now
			h.status.Missing = h.group.missing()
			h.setState(HostUp, nil)
		}
	case next == hostHasEnded:
		if errors.Is(err, source.ErrEnd) {
			err = nil
		}
		h.setState(HostEnded, err)
	case next == hostConnects:
		h.group, h.status.Missing = nil, 0
		h.setState(HostDown, err)
	default:
		h.status.Missing = h.group.missing()
		h.setState(HostFailing, err)
	}
	l.settle(h)
	return next == hostReady
}

// setState sets the state. The caller has the lock.
func (h *fleetHost[T]) setState(s HostState, err error) {
	if h.status.State != s {
		h.status.State, h.status.Since = s, time.Now()
	}
	h.status.Err = err
}

// row returns the row of the host in a complete tick. The caller has the lock.
func (h *fleetHost[T]) row() FleetRow[T] {
	switch l := h.l; {
	case h.values == l.number && h.phase == hostReady:
		return FleetRow[T]{Host: h.name, Status: h.status, Time: h.time, Items: h.items, group: h.group}
	case h.phase == hostFetches,
		h.phase == hostReady && (h.status.State == HostUp || h.status.State == HostLate): // its fetch has not begun
		h.setState(HostLate, errLate)
	}
	return FleetRow[T]{Host: h.name, Status: h.status}
}

// missing returns how many items lacked a metric or an instance at the latest Fetch.
func (g *Group) missing() int {
	n := 0
	for _, m := range g.members {
		if b := m.base(); b.why != nil || b.noInst {
			n++
		}
	}
	return n
}
