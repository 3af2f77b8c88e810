package pmapi_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

var fleetFull = flag.Bool("fleet.full", false, "watch 500 collectors with 50 faults, and require every row of the others in time")

// A faultyHost has a collector that listens on the loopback interface, and can be killed, stopped,
// slowed down and replaced.
type faultyHost struct {
	name  string
	n     int
	slow  atomic.Bool
	addr  atomic.Value // string: where it listens, or did last
	stops gate

	end    context.CancelFunc
	served chan struct{}

	mu    sync.Mutex
	conns []net.Conn
}

// A gate holds up its waiters while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil if it is open
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) wait() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

// serve starts a collector with a counter of the given name.
func (h *faultyHost) serve(t *testing.T, counter string) {
	t.Helper()
	a := &pmda.Agent{Name: "load", Domain: 401}
	pmda.Register(a, pmda.Metric[float64]{Name: "load", Value: func(ctx context.Context, _ *pmda.Request, _ pdu.Instance) (float64, error) {
		for h.slow.Load() && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		return float64(h.n), nil
	}})
	began := time.Now()
	pmda.Register(a, pmda.Metric[float64]{Name: counter, Sem: pdu.SemCounter, Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) {
		return time.Since(began).Seconds(), nil
	}})
	// A time-out would be an error of the metric.
	srv := &collector.Server{Logger: slog.New(slog.DiscardHandler), Timeout: time.Hour, Grace: time.Millisecond}
	if err := srv.Add(a); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.addr.Store(ln.Addr().String())
	h.end, h.served = cancel, make(chan struct{})
	go func() {
		defer close(h.served)
		srv.Serve(ctx, faultyListener{ln, h})
		srv.Close()
	}()
}

// kill ends the collector and its connections.
func (h *faultyHost) kill() {
	h.end()
	h.mu.Lock()
	for _, c := range h.conns {
		c.Close()
	}
	h.conns = nil
	h.mu.Unlock()
	<-h.served
}

// A faultyListener accepts connections and holds them up while the host is stopped, as the kernel
// does for a stopped process.
type faultyListener struct {
	net.Listener
	h *faultyHost
}

func (l faultyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.h.mu.Lock()
	l.h.conns = append(l.h.conns, c)
	l.h.mu.Unlock()
	return faultyConn{c, &l.h.stops}, nil
}

type faultyConn struct {
	net.Conn
	stops *gate
}

func (c faultyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.stops.wait() // its reply to this comes later
	return n, err
}

// A fault is done to some hosts, and undone.
type fault struct {
	name     string
	do, undo func(t *testing.T, h *faultyHost)
	seen     func(r *pmapi.FleetRow[loadHost]) bool
	lost     bool // when it is up again, it is on another connection
}

var faults = []fault{
	{"killed", func(_ *testing.T, h *faultyHost) { h.kill() }, func(t *testing.T, h *faultyHost) { h.serve(t, "count") },
		func(r *pmapi.FleetRow[loadHost]) bool { return r.Status.State == pmapi.HostDown }, true},
	{"stopped", func(_ *testing.T, h *faultyHost) { h.stops.set(true) }, func(_ *testing.T, h *faultyHost) { h.stops.set(false) },
		func(r *pmapi.FleetRow[loadHost]) bool {
			return r.Status.State == pmapi.HostLate || r.Status.State == pmapi.HostDown && pdu.FromError(r.Status.Err) == pdu.ErrTimeout
		}, false},
	{"slow", func(_ *testing.T, h *faultyHost) { h.slow.Store(true) }, func(_ *testing.T, h *faultyHost) { h.slow.Store(false) },
		func(r *pmapi.FleetRow[loadHost]) bool { return r.Status.State == pmapi.HostLate }, false},
	{"replaced", func(t *testing.T, h *faultyHost) { h.kill(); h.serve(t, "other") }, func(t *testing.T, h *faultyHost) { h.kill(); h.serve(t, "count") },
		func(r *pmapi.FleetRow[loadHost]) bool {
			return r.Status.State == pmapi.HostUp && r.Status.Missing == 1 && pdu.FromError(r.Err()) == pdu.ErrName
		}, true},
}

// TestFleetOfCollectors: each of several faults is seen, while all other hosts have their values,
// and all come back.
func TestFleetOfCollectors(t *testing.T) {
	n, faulty, interval := 50, 10, 200*time.Millisecond
	f := newLoadFleet()
	f.Wait = time.Second // for a busy machine
	if *fleetFull {
		n, faulty, interval, f.Wait = 500, 50, time.Second, 0
	}
	hosts := map[string]*faultyHost{}
	f.Dialer = &pmapi.Dialer{
		Backoff: []time.Duration{interval, 2 * interval},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			name, _, _ := net.SplitHostPort(addr)
			return new(net.Dialer).DialContext(ctx, network, hosts[name].addr.Load().(string))
		},
	}
	for i := range n {
		h := &faultyHost{name: fmt.Sprintf("host%d", i), n: i}
		h.serve(t, "count")
		hosts[h.name] = h
		if err := f.Add(h.name); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, h := range hosts {
			h.kill()
		}
	}()
	w := &fleetWatch{t: t, hosts: hosts, faulty: n / faulty, interval: interval}
	for tick := range f.Every(t.Context(), interval) {
		if w.next(tick) {
			break
		}
	}
}

// A fleetWatch checks ticks: of hosts without faults, then with some, then without.
type fleetWatch struct {
	t        *testing.T
	hosts    map[string]*faultyHost
	faulty   int // every faulty-th host has a fault
	interval time.Duration
	phase    int
	ticks    int // in this phase
	good     int // the ticks that were as expected
	total    int
}

// faultOf is the fault that the host of a row has in the second phase, or nil.
func (w *fleetWatch) faultOf(i int) *fault {
	if i%w.faulty != 0 {
		return nil
	}
	return &faults[i/w.faulty%len(faults)]
}

// next checks a tick, and reports whether it was the last.
func (w *fleetWatch) next(tick *pmapi.FleetTick[loadHost]) bool {
	w.ticks++
	w.total++
	wrong, others := "", 0 // hosts without faults that are not up
	for i := range tick.Rows {
		r := &tick.Rows[i]
		bad := w.faultOf(i)
		if w.phase != 1 || bad == nil {
			v, err := 0., error(nil)
			if r.Status.State == pmapi.HostUp {
				v, err = r.Items.load.Value()
			}
			if r.Status.State != pmapi.HostUp || r.Status.Missing > 0 || err != nil || v != float64(i) {
				wrong = rowText(r)
				if bad == nil {
					others++
				}
			}
			if bad != nil && w.phase == 2 && bad.lost && r.Status.State == pmapi.HostUp && r.Status.Reconnects == 0 {
				w.t.Errorf("%s was %s, and has the same connection", r.Host, bad.name)
			}
		} else if !bad.seen(r) {
			wrong = fmt.Sprintf("%s is %s, and %s", r.Host, bad.name, rowText(r))
		}
	}
	if *fleetFull {
		took := time.Since(tick.Time)
		if w.total > 3 && (others > 0 || tick.Missed > 0 || took > w.interval) {
			w.t.Errorf("tick %d: %d other hosts are not up, %d ticks missed, %v", w.total, others, tick.Missed, took)
		}
		w.t.Logf("tick %2d, phase %d, after %8v: %v %s", w.total, w.phase, took.Round(10*time.Microsecond), tick.Counts(), wrong)
	}
	if wrong == "" {
		w.good++
	}
	if w.ticks > 300 {
		w.t.Fatalf("phase %d does not come to an end: %s", w.phase, wrong)
	}
	if w.good < 3 || *fleetFull && w.ticks < 12 {
		return false
	}
	w.phase, w.ticks, w.good = w.phase+1, 0, 0
	for i, r := range tick.Rows {
		if bad := w.faultOf(i); bad != nil && w.phase == 1 {
			bad.do(w.t, w.hosts[r.Host])
		} else if bad != nil && w.phase == 2 {
			bad.undo(w.t, w.hosts[r.Host])
		}
	}
	return w.phase == 3
}

// A host whose replies are too long is down, with the reason.
func TestFleetLongReplies(t *testing.T) {
	f := &pmapi.Fleet[*pmapi.Item[string]]{Wait: time.Minute, Items: func(g *pmapi.Group) *pmapi.Item[string] {
		return pmapi.Add[string](g, "text")
	}}
	servers := map[string]*collector.Server{}
	f.Dialer = &pmapi.Dialer{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		name, _, _ := net.SplitHostPort(addr)
		return servers[name].DialContext(ctx, network, addr)
	}}
	for name, n := range map[string]int{"a": 1000, "b": 256<<10 + 1000} {
		a := &pmda.Agent{Name: "text", Domain: 401}
		pmda.Register(a, pmda.Metric[string]{Name: "text", Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
			return strings.Repeat("x", n), nil
		}})
		servers[name] = &collector.Server{Logger: slog.New(slog.DiscardHandler)}
		defer servers[name].Close()
		if err := servers[name].Add(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Add("a", "b"); err != nil {
		t.Fatal(err)
	}
	for tick := range f.Every(t.Context(), time.Hour) {
		a, b := tick.Rows[0].Status, tick.Rows[1].Status
		if _, ok := errors.AsType[*pmapi.LimitError](b.Err); !ok || b.State == pmapi.HostUp || a.State != pmapi.HostUp {
			t.Errorf("the host with short replies is %v, that with long ones %v", a, b)
		}
		break
	}
}
