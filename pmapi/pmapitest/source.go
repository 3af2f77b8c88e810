package pmapitest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/archivesource"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Source is a synthetic source of metrics. The zero value has no metrics, and its clock is that
// of package time. Exported fields must not change after the first call of Context.
type Source struct {
	// Host is the host name for errors and Context.HostName; empty means "pmapitest".
	Host string
	// Labels are the labels of the context, as a JSON object; empty means none.
	Labels string
	// Start is when the source's own time begins; zero means that it uses the time of package time.
	Start time.Time
	// Speed is how many times faster the source's own time passes than that of this computer, from
	// its first use on. 0 means that it passes only by Advance, delays and pauses. Speed needs a
	// Start.
	Speed float64
	// End is the last moment with values; zero means no end. Later fetches and lookups of names
	// fail with pdu.ErrEOL, which ends Group.Every. After End, any request that a fault would make
	// fail fails with pdu.ErrEOL instead.
	End time.Time
	// AutoReconnect makes contexts reconnect automatically, as pmapi.Dialer.AutoReconnect does.
	AutoReconnect bool
	// Derived defines derived metrics for all contexts; may be nil.
	Derived *pmapi.Derived
	// OnRequest, if not nil, is called before each request is served, and may wait. If it returns
	// an error, the request fails with it. A pdu.Error looks like a reply of the source. OnRequest
	// is also called while connections are broken. A Group then makes no Fetch, because its Lookup
	// fails first.
	OnRequest func(ctx context.Context, r Request) error

	archives *archivesource.Source // of Replay

	mu      sync.Mutex
	metrics []*metric
	indoms  []*InDom
	labels  map[pdu.LabelReq]string // of domains and clusters
	conns   []*conn
	began   time.Time     // time of the first use with a Speed, by this computer's clock
	passed  time.Duration // since Start, without the time that passed by Speed
	delay   time.Duration
	failed  error // error of fetches, or nil
	broken  error // why connections are broken, or nil
	outages []outage
	serial  int // of the next PMID
}

// A Request is a request of a context.
type Request struct {
	// Method is the kind of the request: Lookup, Names, Children, Traverse, Descs, Instances,
	// Texts, Labels, HostName, Fetch or Store. Methods of pmapi.Context for one item make the same
	// request as those for several: Desc makes Descs, InstID and InstName make Instances.
	Method string
	Names  []string   // of Lookup, Children and Traverse
	PMIDs  []pdu.PMID // of Names, Descs, Fetch and Store
}

// Context opens a context on the source. It does not have to be closed. While connections are
// broken, its requests fail, like those of a monitor that starts before its collector.
func (s *Source) Context() *pmapi.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return source.NewContext(s.host(), s.connect(), s.Derived).(*pmapi.Context)
}

func (s *Source) host() string {
	if s.Host == "" {
		return "pmapitest"
	}
	return s.Host
}

// connect makes a connection. The caller holds the lock.
func (s *Source) connect() *conn {
	s.applyOutages()
	c := &conn{s: s, closing: make(chan struct{}), known: newKnown(), replay: s.replay()}
	c.skipEvents()
	if s.broken != nil {
		c.lost, c.lostAt, c.noticed, c.never = s.broken, s.now(), true, true
	}
	s.conns = append(s.conns, c)
	return c
}

// Now returns the current time of the source.
func (s *Source) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Source) now() time.Time {
	if s.Start.IsZero() {
		return time.Now().Add(s.passed)
	}
	if s.Speed > 0 {
		if s.began.IsZero() {
			s.began = time.Now()
		}
		return s.Start.Add(s.passed + time.Duration(float64(time.Since(s.began))*s.Speed))
	}
	return s.Start.Add(s.passed)
}

// Advance sets the source's clock forward, or back.
func (s *Source) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed += d
}

// sleep lets d of the source's time pass, unless ctx ends.
func (s *Source) sleep(ctx context.Context, d time.Duration) error {
	if s.Start.IsZero() {
		return ctxwait.Sleep(ctx, d)
	}
	if s.Speed > 0 {
		return ctxwait.Sleep(ctx, s.scaled(d))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Advance(max(d, 0))
	return nil
}

// SetDelay makes every request take d of the source's time.
func (s *Source) SetDelay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// FailFetch makes every fetch fail with an error, until FailFetch(nil).
func (s *Source) FailFetch(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// Break breaks all connections until Restore: requests and reconnections fail with pdu.ErrIPC and
// cause, which may be nil. Later fetches do not report what changes meanwhile, but with
// AutoReconnect the Gap does. A loop over Group.Every continues until Source.End or the end of its
// context.Context. BreakAt breaks connections at a time.
func (s *Source) Break(cause error) {
	if cause == nil {
		cause = errBroken
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyOutages()
	s.breakAll(cause, s.now())
}

var errBroken = errors.New("the connection is broken")

// breakAll breaks all connections, at a time that is not in the future.
func (s *Source) breakAll(cause error, at time.Time) {
	s.broken = cause
	for _, c := range s.conns {
		c.lose(cause, at)
	}
}

// Restore permits connections again. Context.Reconnect makes them or, with AutoReconnect, the next
// request.
func (s *Source) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyOutages()
	s.broken = nil
}

// An outage is a planned Break or Restore.
type outage struct {
	at     time.Time
	broken bool
}

// BreakAt breaks all connections at one time of the source, as Break(nil) does, and restores them
// at another. Several outages must not overlap. It panics if until is not after from.
//
//	src.BreakAt(noon.Add(2*time.Second), noon.Add(4*time.Second)) // down from second 2 to 4
func (s *Source) BreakAt(from, until time.Time) {
	if !until.After(from) {
		panic("pmapitest: BreakAt: until is not after from")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outages = append(s.outages, outage{from, true}, outage{until, false})
	slices.SortStableFunc(s.outages, func(a, b outage) int { return a.at.Compare(b.at) })
}

// applyOutages does what BreakAt has planned up to now. The caller holds the lock.
func (s *Source) applyOutages() {
	now := s.now()
	for len(s.outages) > 0 && !s.outages[0].at.After(now) {
		o := s.outages[0]
		s.outages = s.outages[1:]
		if o.broken {
			s.breakAll(errBroken, o.at)
		} else {
			s.broken = nil
		}
	}
}

// hasEnded reports whether End has passed. The caller holds the lock.
func (s *Source) hasEnded() bool { return !s.End.IsZero() && s.now().After(s.End) }

// Notify makes the next fetch of each context report changes, as from a collector. Changes of names
// and labels in this source are reported without it.
func (s *Source) Notify(changed pdu.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify(changed)
}

func (s *Source) notify(changed pdu.Change) {
	for _, c := range s.conns {
		if c.lost == nil {
			c.changed |= changed
		}
	}
}

// SetLabels replaces the labels of a domain or a cluster by a JSON object. For the class
// pdu.LabelDomain, ident is the pdu.Domain, and for pdu.LabelCluster the PMID of any of its
// metrics. It panics for other classes, whose labels Source, Metric and InDom have.
func (s *Source) SetLabels(class pdu.LabelClass, ident uint32, labels string) {
	if class != pdu.LabelDomain && class != pdu.LabelCluster {
		panic("pmapitest: SetLabels of class " + class.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels == nil {
		s.labels = map[pdu.LabelReq]string{}
	}
	s.labels[labelKey(class, ident)] = labels
	s.notify(pdu.ChangeLabels)
}

// labelKey returns the key of a domain or a cluster in Source.labels.
func labelKey(class pdu.LabelClass, ident uint32) pdu.LabelReq {
	if class == pdu.LabelCluster {
		id := pdu.PMID(ident)
		ident = uint32(pdu.MakePMID(id.Domain(), id.Cluster(), 0))
	}
	return pdu.LabelReq{Ident: ident, Class: class}
}

// byName returns the metric with a name, or nil.
func (s *Source) byName(name string) *metric {
	if i := slices.IndexFunc(s.metrics, func(m *metric) bool { return m.name == name }); i >= 0 {
		return s.metrics[i]
	}
	return nil
}

// byPMID returns the metric with a PMID, or nil.
func (s *Source) byPMID(id pdu.PMID) *metric {
	if i := slices.IndexFunc(s.metrics, func(m *metric) bool { return m.desc.PMID == id }); i >= 0 {
		return s.metrics[i]
	}
	return nil
}

func (s *Source) indom(id pdu.InDom) *InDom {
	if i := slices.IndexFunc(s.indoms, func(d *InDom) bool { return d.id == id }); i >= 0 {
		return s.indoms[i]
	}
	return nil
}
