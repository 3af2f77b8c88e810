package collector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/turns"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// An agent is an entry of the agent table, for an agent in this process or in another one. The
// entry stays the same when a process dies and is restarted.
type agent struct {
	local pmda.Handler // of an agent in this process; nil if conf says how to start it
	kind  string
	conf  pmcdconf.Agent
	label atomic.Pointer[string] // its name in the configuration; nil if it has none there

	remote  atomic.Pointer[process] // the running process; nil if none runs
	status  atomic.Int32            // pmcd.agent.status
	fenced  atomic.Bool
	removed atomic.Bool // it is no longer in the table
	calls   agentCalls  // of an agent in this process

	latencies pmcdagent.Latencies // of its calls
	// endServing tells an agent in this process that no more requests will come. It is nil if the
	// agent does not need it.
	endServing func()

	// Of an agent in another process.
	argv     []string        // the command that starts it; a socket agent may have none
	ctx      context.Context // ends when the agent is to stop
	cancel   context.CancelFunc
	starting sync.Mutex    // one start at a time
	started  chan struct{} // has room for one, to tell the supervisor of a start
	done     chan struct{} // closed when the supervisor has ended
	err      error         // why the process did not end; set before done is closed
}

// name returns the agent's name in the configuration, or the name that the agent reports.
func (a *agent) name() string {
	if l := a.label.Load(); l != nil {
		return *l
	}
	return a.local.Info().Name
}

// setName sets the agent's name to that of a configuration line. If it is empty, an agent in this
// process keeps its name.
func (a *agent) setName(name string) {
	if name != "" || a.local == nil {
		a.label.Store(&name)
	}
}

// domain returns the domain of the agent's metrics.
func (a *agent) domain() pdu.Domain {
	if a.local != nil {
		return a.local.Info().Domain
	}
	return a.conf.Domain
}

// current returns the agent's Handler, or nil if its process does not run.
func (a *agent) current() pmda.Handler {
	if a.local != nil {
		return a.local
	}
	if p := a.remote.Load(); p != nil {
		return p.Agent
	}
	return nil
}

// state returns the value of pmcd.agent.status.
func (a *agent) state() int32 {
	if r, ok := pmda.As[pmda.Serving](a.local); ok {
		select {
		case <-r.WhenReady():
		default:
			return statusNotReady
		}
	}
	if p := a.remote.Load(); p != nil && !p.Ready() {
		select {
		case <-p.Done(): // it has ended, which the supervisor is about to record
		default:
			return statusNotReady
		}
	}
	return a.status.Load()
}

// An agentTable is an immutable list of the agents. Adding or removing an agent creates a new
// table.
type agentTable struct {
	list     []*agent // in the order in which they were added
	byDomain [pdu.MaxDomain + 1]*agent
}

// get returns the agent of domain d, or nil if the domain has no agent.
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

// add adds an agent to the table. For an agent in another process it also starts the supervisor.
func (s *Server) add(a *agent) error {
	d := a.domain()
	if d < 0 || d > pdu.MaxDomain {
		return fmt.Errorf("domain %d out of range (0..%d)", d, pdu.MaxDomain)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded() {
		return errClosed
	}
	t := s.agents.Load()
	if other := t.get(d); other != nil {
		return fmt.Errorf("domain %d is that of agent %q", d, other.name())
	}
	if a.calls.slots == nil {
		a.calls.slots = turns.New(s.limits.agentCalls)
	}
	s.sendAllAttributes(a.local)
	s.agents.Store(t.with(a))
	if a.local != nil {
		s.noteAdded(a)
	} else {
		s.agentWG.Go(func() { s.supervise(a) })
	}
	return nil
}

// sendAllAttributes sends a new agent the attributes of all clients. The caller holds s.mu until
// clients can send requests to the agent.
func (s *Server) sendAllAttributes(h pmda.Handler) {
	for c := range s.clients.all() {
		if info := c.info.Load(); hasAttributes(info) {
			s.sendAttributesTo(h, info)
		}
	}
}

// noteAdded records for all clients that an agent was added. The caller holds s.mu.
func (s *Server) noteAdded(a *agent) {
	s.traceAgent(a, a.remote.Load(), true)
	s.seqnum.Add(1)
	if a.domain() != pmcdagent.Domain {
		s.changes.note(pdu.ChangeAddAgent)
	}
}

// drop removes an agent from the table. It returns false if the agent is no longer in the table.
func (s *Server) drop(a *agent) bool {
	s.mu.Lock()
	t := s.agents.Load()
	mine := t.get(a.domain()) == a
	if mine {
		s.agents.Store(t.without(a))
		a.removed.Store(true)
		s.removed = slices.DeleteFunc(append(s.removed, a), func(b *agent) bool { return b.calls.slots.Len() == 0 })
	}
	s.mu.Unlock()
	if mine {
		a.release()
		if a.local != nil { // a process is traced when it ends
			s.traceAgent(a, nil, false)
			s.dumpTrace()
		}
		s.changes.note(pdu.ChangeDropAgent)
	}
	return mine
}

// handlerFor returns the Handler for one request, or the error for the client if no Handler may
// be called. A fence does not block stores.
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

// release tells an agent in this process that no more requests will come from the Server, and
// stops it from logging to the Server's log. It waits for the agent's background work.
func (a *agent) release() {
	if a.endServing != nil {
		a.endServing()
	}
}

// noteAgentChanges records for all clients the changes that an agent reports. It ignores changes
// that only the collector may report.
func (s *Server) noteAgentChanges(what pdu.Change) {
	if what &= pdu.ChangeLabels | pdu.ChangeNames; what != 0 {
		s.changes.note(what)
	}
}

// failure returns the error code for clients. It is always less than 0, because 0 means success
// and larger values are state changes.
func failure(err error) pdu.Error {
	switch code := pdu.FromError(err); {
	case code == pdu.ErrPMDANotReady:
		return pdu.ErrAgain
	case code < 0:
		return code
	}
	return pdu.ErrGeneric
}

// deadline returns the deadline of a request that arrives now, or the zero time if there is no
// limit.
func (s *Server) deadline(now time.Time) time.Time {
	t := time.Duration(s.timeout.Load())
	if t <= 0 {
		return time.Time{}
	}
	return now.Add(t)
}

// setTimeout changes the timeout of agents; 0 and less mean no limit.
func (s *Server) setTimeout(d time.Duration) {
	s.timeout.Store(int64(d))
	s.wakeWatchdog()
	for _, a := range s.agents.Load().list {
		if p := a.remote.Load(); p != nil {
			p.SetTimeout(s.remoteTimeout())
		}
	}
}

// remoteTimeout returns the timeout of agents in the form of remote.Config: less than 0 is no
// limit.
func (s *Server) remoteTimeout() time.Duration {
	if t := time.Duration(s.timeout.Load()); t > 0 {
		return t
	}
	return -1
}
