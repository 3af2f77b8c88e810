package pmapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// Defaults of a Fleet whose fields are zero.
const (
	defaultFleetConnecting = 64
	defaultFleetRequests   = 256
	defaultFleetMaxReply   = 256 << 10
	defaultFleetWait       = 5 * time.Second // at most; see Fleet.Wait
)

// A Fleet fetches the same metrics from many hosts at the same time, at an interval.
//
//	type host struct {
//		load *pmapi.Item[float64]
//		read *pmapi.Set[float64]
//	}
//	f := &pmapi.Fleet[host]{Items: func(g *pmapi.Group) host {
//		return host{
//			load: pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute")),
//			read: pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second")),
//		}
//	}}
//	if err := f.Add("web1", "web2", "db1:44322"); err != nil {
//		return err
//	}
//	for tick := range f.Every(ctx, time.Second) {
//		for row := range tick.Up() {
//			if v, err := row.Items.load.Value(); err == nil {
//				fmt.Println(tick.Time, row.Host, v)
//			}
//		}
//	}
//
// # Hosts
//
// Each host has a separate Context and Group, and T holds the items of the group. A loop over Every
// connects to all hosts. It reconnects to a lost host at once, and after a failed attempt as
// Dialer.Backoff says. The Status of a host has its errors, which never delay the other hosts. Add
// and Remove change the hosts, also while a loop runs.
//
// # Limits
//
//	MaxConnecting    64       connections being made, except for those that take over a second
//	MaxRequests      256      fetches in progress, except for those that take over a tenth of Wait
//	Dialer.MaxReply  256 KiB  bytes of a reply; a longer one ends the connection
//
// They also limit the memory. A host needs about 30 KiB, and up to ten times its longest reply if
// it has many instances.
//
// # Concurrency
//
// A Fleet is safe for concurrent use after its fields are set; they must not change then. Each loop
// over Every has separate connections, and its ticks are for one goroutine at a time. A tick
// allocates nothing for a host with numeric values, unless items are added or removed or lack a
// value.
type Fleet[T any] struct {
	// Items adds metrics to the group of a host and returns the results of Add, AddSet and so on.
	// It must not be nil. It is called for each new connection, one call at a time.
	Items func(g *Group) T
	// Dialer has the options of connections to the hosts of Add; nil means the defaults. A MaxReply
	// of 0 means 256 KiB, and an empty Backoff means 1, 2, 5 and 10 seconds. AutoReconnect is
	// ignored.
	Dialer *Dialer
	// Wait is how long a tick waits for hosts whose previous reply was in time and, in the first
	// tick of a loop, for connections. For other hosts a tick waits a tenth of it. 0 means half of
	// the interval, at most 5 seconds, or 5 seconds without an interval.
	Wait time.Duration
	// MaxConnecting and MaxRequests limit the connections that are being made and the fetches in
	// progress; see Limits. 0 means 64 and 256.
	MaxConnecting, MaxRequests int

	mu    sync.Mutex
	hosts []fleetMember
	loops map[*fleetLoop[T]]bool // that run
	items sync.Mutex             // for calls of Items
}

// A fleetMember is a host of a fleet, and how to open a context on it.
type fleetMember struct {
	name string
	open func(ctx context.Context) (*Context, error)
}

// Add adds hosts. Each spec is a host specification or a path of archives, as for
// Dialer.OpenSource, and becomes the name of the host. Add makes no request: if a host cannot be
// reached, its Status says so. If there is an error, no host is added. Errors: those of Dialer.Dial
// for a malformed specification, and pdu.ErrArg for a host that the fleet already has.
func (f *Fleet[T]) Add(specs ...string) error {
	members := make([]fleetMember, len(specs))
	for i, spec := range specs {
		if !isPath(spec) {
			if err := checkNoArchive(spec); err != nil {
				return &OpError{Op: "add", Err: err}
			}
			if _, err := parseHost(spec); err != nil {
				return &OpError{Op: "add", Err: &badHostError{spec, err}}
			}
		}
		members[i] = fleetMember{spec, func(ctx context.Context) (*Context, error) {
			d := f.dialer()
			return d.OpenSource(ctx, spec)
		}}
	}
	return f.add(members)
}

// AddSource adds a host of any kind. open opens a context on it: the first one, and another
// whenever the previous one has lost its connection. The fleet closes these contexts. Several
// goroutines may call open at a time, and it must return when ctx ends.
//
//	f.AddSource("here", func(ctx context.Context) (*pmapi.Context, error) {
//		return pmapi.Local(ctx, srv)
//	})
//
// A source that ends, such as an archive, has the state HostEnded after its last value. A loop ends
// when all hosts have ended. The error is pdu.ErrArg for a host that the fleet already has.
func (f *Fleet[T]) AddSource(name string, open func(ctx context.Context) (*Context, error)) error {
	return f.add([]fleetMember{{name, open}})
}

// add adds hosts to the fleet and to its running loops.
func (f *Fleet[T]) add(members []fleetMember) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := make(map[string]bool, len(f.hosts)+len(members))
	for _, m := range f.hosts {
		known[m.name] = true
	}
	for _, m := range members {
		if known[m.name] {
			return &OpError{Op: "add", Host: m.name, Err: fmt.Errorf("the fleet has this host already: %w", pdu.ErrArg)}
		}
		known[m.name] = true
	}
	f.hosts = append(f.hosts, members...)
	for l := range f.loops {
		for _, m := range members {
			l.add(m)
		}
	}
	return nil
}

// Remove removes a host and reports whether the fleet had one of this name. The rows of the current
// tick stay as they are.
func (f *Fleet[T]) Remove(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.hosts, func(m fleetMember) bool { return m.name == name })
	if i < 0 {
		return false
	}
	f.hosts = slices.Delete(f.hosts, i, i+1)
	for l := range f.loops {
		l.remove(name)
	}
	return true
}

// Hosts returns the names of all hosts, in the order of Add.
func (f *Fleet[T]) Hosts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := make([]string, len(f.hosts))
	for i, m := range f.hosts {
		names[i] = m.name
	}
	return names
}

// dialer returns the options of connections.
func (f *Fleet[T]) dialer() Dialer {
	var d Dialer
	if f.Dialer != nil {
		d = *f.Dialer
	}
	d.MaxReply = cmp.Or(d.MaxReply, defaultFleetMaxReply)
	d.AutoReconnect = false
	return d
}

// backoff returns the delays before the next attempt to connect. Without any, a fleet would do
// nothing else than connect to hosts that are down.
func (f *Fleet[T]) backoff() []time.Duration {
	if f.Dialer == nil || len(f.Dialer.Backoff) == 0 {
		return autoBackoff
	}
	return f.Dialer.Backoff
}

// wait returns how long a tick waits for hosts.
func (f *Fleet[T]) wait(interval time.Duration) time.Duration {
	switch {
	case f.Wait > 0:
		return f.Wait
	case interval > 0:
		return min(interval/2, defaultFleetWait)
	}
	return defaultFleetWait
}

// Every connects to all hosts and yields a tick at once and then at every multiple of the interval.
// For each tick it fetches from all connected hosts. It yields the tick when all hosts that were in
// time before have replied, or when Wait is over.
//
// A reply that comes later is dropped, and the host takes part again in the first tick after that
// reply. Multiples of the interval that pass while the body of the loop runs are left out. An
// interval of 0 or less means no pause.
//
// The loop ends when ctx ends, when all hosts have ended, or by break. Then all its connections are
// closed and its goroutines have ended.
//
// The clock is that of this computer; in a bubble of testing/synctest its time passes at once. For
// an archive, each tick has one row at the interval, as in Group.Every. While all hosts are
// archives, the loop does not pause between ticks.
func (f *Fleet[T]) Every(ctx context.Context, interval time.Duration) iter.Seq[*FleetTick[T]] {
	return func(yield func(*FleetTick[T]) bool) {
		l := f.begin(ctx, interval)
		defer l.end()
		began, due, pause := time.Now(), time.Duration(0), time.Duration(0)
		for ctxwait.Sleep(ctx, pause) == nil {
			at := began.Add(due)
			if interval <= 0 || l.fast {
				at = time.Now()
			}
			if !l.collect(at) || !yield(&l.tick) {
				return
			}
			passed := time.Since(began)
			next := nextDue(due, passed, interval)
			l.tick.Missed = 0
			if l.fast = l.onlyArchives(); l.fast {
				due, pause = passed, 0
				continue
			}
			if interval > 0 {
				l.tick.Missed = int((next-due)/interval) - 1
			}
			due, pause = next, next-passed
		}
	}
}
