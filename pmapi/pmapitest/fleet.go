package pmapitest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A Fleet is a number of synthetic hosts, for tests of programs that use a pmapi.Fleet. A test can
// stop, start, hang, slow down and replace the collector of each. It is safe for concurrent use.
//
//	hosts := pmapitest.NewFleet(500, func(i int, src *pmapitest.Source) {
//		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load"}).Set(float64(i))
//	})
//	err := hosts.AddTo(fleet)
//	hosts.Host("host7").Stop(errors.New("out of memory"))
//
// In a bubble of testing/synctest, the time of a Source without a Start is virtual, so that an hour
// of ticks and back-off takes no time.
type Fleet struct{ hosts []*Host }

// NewFleet makes n hosts with the names host1, host2 and so on. It calls setup to add metrics to
// the Source of each, with i from 0.
func NewFleet(n int, setup func(i int, src *Source)) *Fleet {
	f := new(Fleet)
	for i := range n {
		h := &Host{name: fmt.Sprintf("host%d", i+1)}
		h.Restart(func(src *Source) { setup(i, src) })
		f.hosts = append(f.hosts, h)
	}
	return f
}

// Hosts returns the hosts in order.
func (f *Fleet) Hosts() []*Host { return slices.Clone(f.hosts) }

// Host returns the host with a name. It panics if the fleet has no such host.
func (f *Fleet) Host(name string) *Host {
	for _, h := range f.hosts {
		if h.name == name {
			return h
		}
	}
	panic("pmapitest: there is no host " + name)
}

// AddTo adds all hosts to a *pmapi.Fleet.
func (f *Fleet) AddTo(fleet interface {
	AddSource(name string, open func(ctx context.Context) (*pmapi.Context, error)) error
}) error {
	var errs []error
	for _, h := range f.hosts {
		errs = append(errs, fleet.AddSource(h.name, h.Open))
	}
	return errors.Join(errs...)
}

// A Host is a host of a Fleet. It is safe for concurrent use.
type Host struct {
	name string

	mu     sync.Mutex
	source *Source
	down   error         // why the collector is stopped, or nil
	hangs  chan struct{} // closed by Resume; nil if the collector does not hang
}

// Name returns the name of the host.
func (h *Host) Name() string { return h.name }

// Source returns the current collector of the host. Restart replaces it.
func (h *Host) Source() *Source {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.source
}

// The defaults of a pmapi.Dialer.
const (
	connectTimeout = 5 * time.Second
	requestTimeout = 10 * time.Second
)

// Open connects to the collector, for pmapi.Fleet.AddSource. It fails while the collector is
// stopped or hangs.
func (h *Host) Open(ctx context.Context) (*pmapi.Context, error) {
	if err := h.hang(ctx, connectTimeout); err != nil {
		return nil, &pmapi.OpError{Op: "dial", Host: h.name, Err: err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down != nil {
		return nil, &pmapi.OpError{Op: "dial", Host: h.name, Err: h.down}
	}
	return h.source.Context(), nil
}

// Stop stops the collector: it breaks the connections and prevents new ones. cause may be nil.
func (h *Host) Stop(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = cmp.Or(cause, errStopped)
	h.source.Break(h.down)
}

var errStopped = errors.New("the collector is stopped")

// Start starts a stopped collector again, with its metrics.
func (h *Host) Start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = nil
	h.source.Restore()
}

// Restart replaces the collector with a new one, which has only the metrics of setup. It breaks the
// connections to the old one.
func (h *Host) Restart(setup func(src *Source)) {
	src := &Source{Host: h.name}
	src.OnRequest = func(ctx context.Context, _ Request) error { return h.hang(ctx, requestTimeout) }
	setup(src)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.source != nil {
		h.source.Break(errStopped)
	}
	h.source, h.down = src, nil
}

// SetDelay makes every request take d; see Source.SetDelay.
func (h *Host) SetDelay(d time.Duration) { h.Source().SetDelay(d) }

// Hang makes the collector accept connections and requests without a reply, until Resume. A request
// then fails with pdu.ErrTimeout after 10 seconds, and Open after 5.
func (h *Host) Hang() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hangs == nil {
		h.hangs = make(chan struct{})
	}
}

// Resume ends Hang. The collector replies to waiting requests.
func (h *Host) Resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hangs != nil {
		close(h.hangs)
		h.hangs = nil
	}
}

// hang waits while the collector hangs, but not longer than most.
func (h *Host) hang(ctx context.Context, most time.Duration) error {
	h.mu.Lock()
	hangs := h.hangs
	h.mu.Unlock()
	if hangs == nil {
		return nil
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-hangs:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return pdu.ErrTimeout
	}
}
