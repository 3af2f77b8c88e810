package collector

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// The agent of domain 2 is built in.
const pmcdDomain pdu.Domain = 2

// An agent is a row of the agent table. The row stays while the agent dies and
// restarts; what changes is its handler.
type agent struct {
	handler pmda.Handler // in this process; nil if conf says how to start it
	kind    AgentKind
	conf    AgentConfig

	remote atomic.Pointer[process] // a started agent; nil while there is none
	status atomic.Int32            // pmcd.agent.status
	fenced atomic.Bool
	done   chan struct{} // closed when the supervisor has ended; nil without one
	quit   chan struct{} // closed to end the supervisor
	once   sync.Once     // closes quit
}

// name is the label of the agent.
func (a *agent) name() string {
	if a.handler != nil {
		return a.handler.Info().Name
	}
	return a.conf.Name
}

// domain is the number of the agent.
func (a *agent) domain() pdu.Domain {
	if a.handler != nil {
		return a.handler.Info().Domain
	}
	return a.conf.Domain
}

// current is the Handler to ask, or nil if the agent is not there.
func (a *agent) current() pmda.Handler {
	if a.handler != nil {
		return a.handler
	}
	if p := a.remote.Load(); p != nil {
		return p.Remote
	}
	return nil
}

// An agentTable is the agents at one time. It never changes.
type agentTable struct {
	list     []*agent // in the order of their coming
	byDomain [pdu.MaxDomain + 1]*agent
}

// get is the agent of a domain, nil if there is none.
func (t *agentTable) get(d pdu.Domain) *agent {
	if d < 0 || d > pdu.MaxDomain {
		return nil
	}
	return t.byDomain[d]
}

func (t *agentTable) with(a *agent) *agentTable {
	n := &agentTable{list: append(slices.Clone(t.list), a), byDomain: t.byDomain}
	n.byDomain[a.domain()] = a
	return n
}

func (t *agentTable) without(a *agent) *agentTable {
	n := &agentTable{byDomain: t.byDomain}
	n.list = slices.DeleteFunc(slices.Clone(t.list), func(b *agent) bool { return a == b })
	n.byDomain[a.domain()] = nil
	return n
}

// add enters an agent into the table.
func (s *Server) add(a *agent) error {
	d := a.domain()
	if d < 0 || d > pdu.MaxDomain {
		return fmt.Errorf("collector: agent %q: domain %d out of range (0..%d)", a.name(), d, pdu.MaxDomain)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.agents.Load()
	if other := t.get(d); other != nil {
		return fmt.Errorf("collector: agent %q: domain %d is that of agent %q", a.name(), d, other.name())
	}
	s.agents.Store(t.with(a))
	if a.handler != nil {
		s.greet(a)
	}
	return nil
}

// greet tells everybody that an agent has come, and the agent who is there. s.mu
// is held.
func (s *Server) greet(a *agent) {
	if w, ok := a.current().(pmda.Watcher); ok {
		for c := range s.clients.all() {
			if info := c.info.Load(); info != nil && c.known(info) {
				w.Attributes(info)
			}
		}
	}
	s.traceAgent(a, a.remote.Load(), true)
	s.seqnum.Add(1)
	if a.domain() != pmcdDomain {
		s.changes.note(pdu.AddAgent)
	}
}

// drop takes an agent out of the table.
func (s *Server) drop(a *agent) {
	s.traceAgent(a, a.remote.Load(), false)
	s.mu.Lock()
	s.agents.Store(s.agents.Load().without(a))
	s.mu.Unlock()
	s.changes.note(pdu.DropAgent)
}

// ask finds the Handler of a domain for one request. unknown is the error if no
// such agent is configured.
func (s *Server) ask(d pdu.Domain, unknown pdu.Error) (pmda.Handler, error) {
	a := s.agents.Load().get(d)
	if a == nil {
		return nil, unknown
	}
	return a.ask()
}

func (a *agent) ask() (pmda.Handler, error) {
	if a.fenced.Load() {
		return nil, pdu.ErrPMDAFenced
	}
	h := a.current()
	if h == nil {
		return nil, pdu.ErrNoAgent
	}
	return h, nil
}

// guard runs a call of an agent's method and makes an error of a panic.
func guard[T any](s *Server, h pmda.Handler, what string, call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(h, what, p)
			err = pdu.ErrGeneric
		}
	}()
	return call()
}

func (s *Server) panicked(h pmda.Handler, what string, p any) {
	i := h.Info()
	s.Logger.Error("agent panicked", slog.String("agent", i.Name), slog.Int("domain", int(i.Domain)),
		slog.String("request", what), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

// deadline is when the answer to a request that begins now is no longer waited
// for.
func (s *Server) deadline() time.Time {
	t := time.Duration(s.timeout.Load())
	if t <= 0 {
		return time.Time{}
	}
	return time.Now().Add(t)
}

// setTimeout changes what an agent may take for an answer; 0 and less are no
// limit.
func (s *Server) setTimeout(d time.Duration) {
	s.timeout.Store(int64(d))
	for _, a := range s.agents.Load().list {
		if p := a.remote.Load(); p != nil {
			p.SetTimeout(s.remoteTimeout())
		}
	}
}

// remoteTimeout is the same in the terms of a Remote.
func (s *Server) remoteTimeout() time.Duration {
	if t := time.Duration(s.timeout.Load()); t > 0 {
		return t
	}
	return -1
}

// fetchFrom writes one set per PMID of an agent, whatever the agent does.
func (s *Server) fetchFrom(ctx context.Context, a *agent, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) {
	err := s.tryFetch(ctx, a, r, ids, w)
	if err == nil && w.Len() == len(ids) {
		return
	}
	code := pdu.ErrPMID // a wrong number of sets
	if err != nil {
		code = pdu.FromError(err)
	}
	changed := w.Changed
	w.Reset()
	w.Changed = changed
	for _, id := range ids {
		w.Begin(id)
		w.Fail(code)
	}
}

func (s *Server) tryFetch(ctx context.Context, a *agent, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) (err error) {
	if a == nil {
		return pdu.ErrNoAgent
	}
	h, err := a.ask()
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			s.panicked(h, "fetch", p)
			err = pdu.ErrGeneric
		}
	}()
	return h.Fetch(ctx, r, ids, w)
}
