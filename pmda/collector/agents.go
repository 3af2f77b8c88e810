package collector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// An agent is a row of the agent table. The row stays while the agent dies and
// restarts; what changes is its handler.
type agent struct {
	handler pmda.Handler // in this process; nil if conf says how to start it
	kind    pmcdconf.Kind
	conf    pmcdconf.Agent
	label   atomic.Pointer[string] // what the configuration calls it; nil if it says nothing

	remote  atomic.Pointer[process] // a started agent; nil while there is none
	status  atomic.Int32            // pmcd.agent.status
	fenced  atomic.Bool
	removed atomic.Bool // it is not in the table any more
	calls   agentCalls  // of an agent in this process

	// Of an agent in another process:
	ctx      context.Context // ends when the agent is to stop
	cancel   context.CancelFunc
	starting sync.Mutex    // one start at a time
	started  chan struct{} // has room to tell the supervisor of a start
	done     chan struct{} // closed when the supervisor has ended
	err      error         // a process that does not end; set before done is closed
}

// name is the label of the agent.
func (a *agent) name() string {
	if l := a.label.Load(); l != nil {
		return *l
	}
	return a.handler.Info().Name
}

// setName gives the agent the name that a line of the configuration has, if it has.
func (a *agent) setName(name string) {
	if name != "" || a.handler == nil {
		a.label.Store(&name)
	}
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
		return p.Agent
	}
	return nil
}

// state is the value of pmcd.agent.status.
func (a *agent) state() int32 {
	if p := a.remote.Load(); p != nil && !p.Ready() {
		select {
		case <-p.Done(): // its end is being noticed
		default:
			return statusNotReady
		}
	}
	return a.status.Load()
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

// add enters an agent into the table, with a supervisor if it is one in another
// process.
func (s *Server) add(a *agent) error {
	d := a.domain()
	if d < 0 || d > pdu.MaxDomain {
		return fmt.Errorf("collector: agent %q: domain %d out of range (0..%d)", a.name(), d, pdu.MaxDomain)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded() {
		return errClosed
	}
	t := s.agents.Load()
	if other := t.get(d); other != nil {
		return fmt.Errorf("collector: agent %q: domain %d is that of agent %q", a.name(), d, other.name())
	}
	if a.calls.slots == nil {
		a.calls.slots = make(chan struct{}, s.AgentCalls)
	}
	s.introduce(a.handler)
	s.agents.Store(t.with(a))
	if a.handler != nil {
		s.greet(a)
	} else {
		s.agentWG.Go(func() { s.supervise(a) })
	}
	return nil
}

// introduce tells an agent who is there, before any of them can ask it. s.mu is
// held until they can.
func (s *Server) introduce(h pmda.Handler) {
	for c := range s.clients.all() {
		if info := c.info.Load(); known(info) {
			s.tellAttributes(h, info)
		}
	}
}

// greet tells everybody that an agent has come. s.mu is held.
func (s *Server) greet(a *agent) {
	s.traceAgent(a, a.remote.Load(), true)
	s.seqnum.Add(1)
	if a.domain() != pmcdagent.Domain {
		s.changes.note(pdu.ChangeAddAgent)
	}
}

// drop takes an agent out of the table; false if somebody else was faster.
func (s *Server) drop(a *agent) bool {
	s.mu.Lock()
	t := s.agents.Load()
	mine := t.get(a.domain()) == a
	if mine {
		s.agents.Store(t.without(a))
		a.removed.Store(true)
		s.removed = slices.DeleteFunc(append(s.removed, a), func(b *agent) bool { return len(b.calls.slots) == 0 })
	}
	s.mu.Unlock()
	if mine {
		s.traceAgent(a, a.remote.Load(), false)
		s.changes.note(pdu.ChangeDropAgent)
	}
	return mine
}

// handlerFor is the Handler for one request, or why there is none. Fencing does
// not keep values from being set.
func (a *agent) handlerFor(store bool) (pmda.Handler, error) {
	h := a.current()
	switch {
	case h == nil:
		return nil, pdu.ErrNoAgent
	case a.fenced.Load() && !store:
		return nil, pdu.ErrPMDAFenced
	}
	return h, nil
}

// noteAgentChanges notes for all clients what an agent says has changed, as far as
// that is for agents to say.
func (s *Server) noteAgentChanges(what pdu.Change) {
	if what &= pdu.ChangeLabels | pdu.ChangeNames; what != 0 {
		s.changes.note(what)
	}
}

// failure is the code that a client sees of an agent's or our own error: never
// one that it would take for a success or a state change.
func failure(err error) pdu.Error {
	if code := pdu.FromError(err); code < 0 {
		return code
	}
	return pdu.ErrGeneric
}

// deadline is when the answer to a request that begins now is no longer waited
// for.
func (s *Server) deadline(now time.Time) time.Time {
	t := time.Duration(s.timeout.Load())
	if t <= 0 {
		return time.Time{}
	}
	return now.Add(t)
}

// setTimeout changes what an agent may take for an answer; 0 and less are no
// limit.
func (s *Server) setTimeout(d time.Duration) {
	s.timeout.Store(int64(d))
	s.wakeWatchdog()
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
