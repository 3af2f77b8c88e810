package pmapitest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Source is a made-up source of metrics. Its zero value has none, and the time of
// package time. Exported fields are not changed once there is a context.
type Source struct {
	// Host is the name of the host, for errors and Context.HostName; empty means
	// "pmapitest".
	Host string
	// Labels are the labels of the context, a JSON object; empty means none.
	Labels string
	// Start is when the source's own time begins; zero means the time of package time.
	Start time.Time
	// End is the last moment with values: later fetches fail with pdu.ErrEOL, which ends
	// Group.Every. Zero means that there is no end.
	End time.Time
	// AutoReconnect makes contexts that connect again by themselves, as pmapi.Dialer.AutoReconnect
	// does.
	AutoReconnect bool
	// OnRequest, if not nil, is called before each request is served, and may wait. An
	// error is that of the request: a pdu.Error as one that the source has replied with.
	OnRequest func(ctx context.Context, r Request) error

	mu      sync.Mutex
	metrics []*metric
	indoms  []*InDom
	conns   []*conn
	passed  time.Duration // since Start
	delay   time.Duration
	failed  error // of fetches
	broken  error // of connections
	serial  int   // of PMIDs
}

// A Request is one that a context makes.
type Request struct {
	Method Method
	Names  []string   // of MethodLookup, MethodChildren and MethodTraverse
	PMIDs  []pdu.PMID // of MethodNames, MethodDescs, MethodFetch and MethodStore
}

// A Method is the kind of a Request.
type Method string

// The methods. Methods of pmapi.Context about one item make the request of the method
// for several: Desc makes MethodDescs, InstID and InstName make MethodInstances.
const (
	MethodLookup    Method = "Lookup"
	MethodNames     Method = "Names"
	MethodChildren  Method = "Children"
	MethodTraverse  Method = "Traverse"
	MethodDescs     Method = "Descs"
	MethodInstances Method = "Instances"
	MethodTexts     Method = "Texts"
	MethodLabels    Method = "Labels"
	MethodHostName  Method = "HostName"
	MethodFetch     Method = "Fetch"
	MethodStore     Method = "Store"
)

// Context opens a context on the source. It does not have to be closed.
func (s *Source) Context() *pmapi.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return source.NewContext(s.host(), s.connect()).(*pmapi.Context)
}

func (s *Source) host() string {
	if s.Host == "" {
		return "pmapitest"
	}
	return s.Host
}

// connect makes a connection. The caller has the lock.
func (s *Source) connect() *conn {
	c := &conn{s: s, closing: make(chan struct{}), known: newKnown()}
	s.conns = append(s.conns, c)
	return c
}

// Now is the time at the source.
func (s *Source) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Source) now() time.Time {
	if s.Start.IsZero() {
		return time.Now().Add(s.passed)
	}
	return s.Start.Add(s.passed)
}

// Advance sets the source's clock forward, or back.
func (s *Source) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed += d
}

// sleep lets a duration of the source's time pass, unless ctx ends.
func (s *Source) sleep(ctx context.Context, d time.Duration) error {
	if s.Start.IsZero() {
		return source.Sleep(ctx, d)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Advance(max(d, 0))
	return nil
}

// SetDelay lets every request take a duration of the source's time.
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

// Break breaks all connections: requests fail with pdu.ErrIPC and cause, which may be nil, and
// connecting again does too, until Restore. What changes meanwhile is not reported by
// fetches; with AutoReconnect it is in the Gap.
func (s *Source) Break(cause error) {
	if cause == nil {
		cause = errors.New("the connection is broken")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = cause
	for _, c := range s.conns {
		c.lose(cause)
	}
}

// Restore lets connections be made again: by Context.Reconnect or, with AutoReconnect, by the
// next request.
func (s *Source) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = nil
}

// Notify makes the next fetch of each context report changes, as from a collector. Changes
// of names and labels of this source are reported without it.
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

// byName is the metric of a name, or nil.
func (s *Source) byName(name string) *metric {
	if i := slices.IndexFunc(s.metrics, func(m *metric) bool { return m.name == name }); i >= 0 {
		return s.metrics[i]
	}
	return nil
}

// byPMID is the metric with a PMID, or nil.
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
