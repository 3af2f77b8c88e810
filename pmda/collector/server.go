package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/remote"
	"github.com/pcp-go/pcp/pmns"
)

// Limits and times of a Server whose fields are zero.
const (
	DefaultGrace         = 5 * time.Second
	DefaultTimeout       = remote.DefaultTimeout
	DefaultMaxPDU        = 65536
	DefaultMaxMetrics    = 32768
	DefaultMaxContexts   = 64
	DefaultMaxClients    = 65536
	DefaultMaxReply      = 64 << 20
	DefaultMaxInFlight   = 512 << 20
	DefaultAgentCalls    = 4
	DefaultHelloTimeout  = 60 * time.Second
	DefaultWriteTimeout  = 30 * time.Second
	defaultAgentsTimeout = remote.DefaultHelloTimeout
)

// A Server is a collector: it hosts agents and answers clients. Its zero value
// is ready. Exported fields may be changed until the first method call.
//
// It answers to pmcd(1). Safe for concurrent use. Several may run in one
// process.
type Server struct {
	// Logger gets one line for every connection that is refused or broken off and
	// for every change of an agent's state; nil discards them.
	Logger *slog.Logger

	// Names are metric names from files, for agents that do not bring their own.
	// SetNames replaces them while the Server runs.
	Names *pmns.Tree

	// Hostname is the value of pmcd.hostname; empty means os.Hostname.
	Hostname string

	// TmpDir is PCP_TMP_DIR, where running loggers (pmlogger) and inference engines
	// (pmie) leave files that pmcd.pmlogger and pmcd.pmie tell of. RunDir is
	// PCP_RUN_DIR, where files say which engine is the primary one and whether
	// pmproxy runs. Where they are empty, nothing is looked for.
	TmpDir, RunDir string

	// OnReset, if not nil, is what Reset calls in place of Restart.
	OnReset func()

	// Trace is what the event trace notes from the start on, in the bits of pmcd's
	// option -T: 1 connections, 2 PDUs, and 256 to log each event at once.
	// pmcd.control.traceconn, tracepdu and tracenobuf show and change it.
	Trace int

	// Labels are the context labels. The zero value has the host's name alone.
	Labels ContextLabels

	// Access is the rules for who may do what; nil lets everybody do everything. As
	// every field it is to be set before the first method call: a Server whose field
	// was changed later does not serve, rather than by the wrong rules. SetAccess and
	// Configure replace the rules while the Server runs. pmcdconf.Parse makes rules of
	// the text of a configuration such as
	//
	//	[access]
	//	disallow ".*" : store;
	//	disallow ":*" : store;
	//
	// which keeps all who come over IPv4 and IPv6 from setting values. Clients in this
	// process and over a unix socket are "unix:".
	Access *pmcdconf.Access

	// DSO makes the in-process agents that "dso" lines of a configuration name, by
	// their entry point, such as "simple_init". The domain is that of the line.
	DSO map[string]func(domain pdu.Domain) (pmda.Handler, error)

	// Timeout limits what an agent may take for an answer, and a client for the
	// rest of a PDU of which a part has arrived. 0 means DefaultTimeout, less than
	// 0 no limit.
	Timeout time.Duration
	// AgentHelloTimeout limits the wait for the first PDU of an agent that has
	// been started; 0 means remote.DefaultHelloTimeout.
	AgentHelloTimeout time.Duration
	// HelloTimeout limits the wait for a client's first PDU; 0 means
	// DefaultHelloTimeout, less than 0 no limit.
	HelloTimeout time.Duration
	// WriteTimeout limits the wait for a client to take a reply; 0 means
	// DefaultWriteTimeout, less than 0 no limit.
	WriteTimeout time.Duration
	// Grace is how long requests in progress may take when the Server ends, and
	// then agents; 0 means DefaultGrace.
	Grace time.Duration
	// NoRestart leaves agents that have died dead.
	NoRestart bool

	// MaxPDU is the greatest length of a PDU accepted from a client; 0 means
	// DefaultMaxPDU.
	MaxPDU int
	// MaxMetrics is the greatest number of metrics in a fetch; 0 means
	// DefaultMaxMetrics.
	MaxMetrics int
	// MaxContexts is the greatest number of contexts of a client; 0 means
	// DefaultMaxContexts.
	MaxContexts int
	// MaxClients is the greatest number of clients; 0 means DefaultMaxClients.
	MaxClients int
	// MaxReply is the greatest size of a fetch's result, and of that of one agent
	// in it: what goes beyond is pdu.ErrTooBig. 0 means DefaultMaxReply.
	MaxReply int
	// MaxInFlight is the greatest size of all large results that are being sent at
	// one time: a client whose result goes beyond gets pdu.ErrAgain. 0 means
	// DefaultMaxInFlight.
	MaxInFlight int
	// AgentCalls is how many calls of one agent in this process may be in progress
	// at one time; others wait for their turn. It is also how many may be stuck
	// before the agent is fenced. 0 means DefaultAgentCalls.
	AgentCalls int

	setup        sync.Once
	started      time.Time
	agents       atomic.Pointer[agentTable]
	names        atomic.Pointer[nameSpace]
	files        atomic.Pointer[pmns.Tree] // the names from files
	access       atomic.Pointer[accessControl]
	accessAtInit *pmcdconf.Access
	changes      changes
	labels       atomic.Pointer[string] // those of files, when they were last looked at
	seqnum       atomic.Uint32          // pmcd.seqnum
	sighups      atomic.Uint32          // pmcd.sighups
	timeout      atomic.Int64           // of agents, as pmcd.control.timeout shows and sets it

	counters  pdu.Counters // PDUs of clients and agents
	trace     eventtrace.Trace
	resetting resetting

	restartDelay time.Duration // the least time between two restarts of an agent
	configuring  sync.Mutex    // one Configure at a time
	adding       sync.Mutex    // one agent with names at a time
	merging      sync.Mutex    // one merge of names at a time

	mu      sync.Mutex // serialises changes of what follows and of agents
	clients clientTable
	removed []*agent      // those with calls that had not returned when an agent was removed
	ended   chan struct{} // closed when the Server ends
	spare   spare

	requests     sync.Pool    // of *request
	largeReplies atomic.Int64 // bytes of large results that are being sent

	startWatchdog sync.Once     // starts the watchdog, or does without
	watchdogEnded chan struct{} // closed when it has ended
	endWatchdog   chan struct{} // closed to end it
	wake          chan struct{} // has room to make it look at once

	serving  bool
	wg       sync.WaitGroup // clients
	agentWG  sync.WaitGroup // supervisors and starts of agents
	closed   chan struct{}  // closed when all have gone
	closeErr error          // set before closed is closed
}

// init completes the Server before its first use.
func (s *Server) init() {
	s.setup.Do(func() {
		s.Grace = cmp.Or(s.Grace, DefaultGrace)
		s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
		s.AgentHelloTimeout = cmp.Or(s.AgentHelloTimeout, defaultAgentsTimeout)
		s.HelloTimeout = cmp.Or(s.HelloTimeout, DefaultHelloTimeout)
		s.WriteTimeout = cmp.Or(s.WriteTimeout, DefaultWriteTimeout)
		s.MaxPDU = cmp.Or(s.MaxPDU, DefaultMaxPDU)
		s.MaxMetrics = cmp.Or(s.MaxMetrics, DefaultMaxMetrics)
		s.MaxContexts = cmp.Or(s.MaxContexts, DefaultMaxContexts)
		s.MaxClients = cmp.Or(s.MaxClients, DefaultMaxClients)
		s.restartDelay = cmp.Or(s.restartDelay, restartDelay)
		s.MaxReply = cmp.Or(s.MaxReply, DefaultMaxReply)
		s.MaxInFlight = cmp.Or(s.MaxInFlight, DefaultMaxInFlight)
		s.AgentCalls = cmp.Or(s.AgentCalls, DefaultAgentCalls)
		if s.Logger == nil {
			s.Logger = slog.New(slog.DiscardHandler)
		}
		s.started = time.Now()
		s.timeout.Store(int64(s.Timeout))
		s.seqnum.Store(1)
		s.files.Store(s.Names)
		s.access.Store(newAccessControl(s.Access))
		s.accessAtInit = s.Access
		s.agents.Store(&agentTable{})
		s.ended, s.closed = make(chan struct{}), make(chan struct{})
		s.watchdogEnded, s.endWatchdog = make(chan struct{}), make(chan struct{})
		s.wake = make(chan struct{}, 1)
		s.requests.New = func() any { return new(request) }
		s.startTrace(s.Trace)
		s.noteLabelChanges()
		s.add(&agent{handler: newPMCDAgent(s), kind: pmcdconf.KindDSO})
	})
}

// Add hosts an agent in this process. Its names, if it knows them, join the name
// space. An agent without a log gets the Server's Logger. Errors: a domain that is
// in use or out of range, the agent's own Err, the name of a metric that another agent has. Clients are told that an agent was
// added.
func (s *Server) Add(h pmda.Handler) error { return s.addHandler(h, pmcdconf.Agent{}) }

// addHandler is Add with the configuration line that asked for the agent.
func (s *Server) addHandler(h pmda.Handler, conf pmcdconf.Agent) error {
	s.init()
	if err := h.Err(); err != nil {
		return err
	}
	if l, ok := pmda.As[pmda.Logging](h); ok {
		l.DefaultLogger(s.Logger)
	}
	s.adding.Lock() // or two might both find a name free
	defer s.adding.Unlock()
	if t := h.Namespace(); t != nil {
		if _, conflicts := pmns.Merge(s.nameTree(), t); len(conflicts) > 0 {
			return fmt.Errorf("collector: agent %q: a name is in use: %v", h.Info().Name, conflicts[0])
		}
	}
	a := &agent{handler: h, kind: pmcdconf.KindDSO, conf: conf}
	a.setName(conf.Name)
	return s.add(a)
}

// Remove ends the agent of a domain: in this process it is not asked any more,
// one in another process sees the end of its input and is waited for; the error
// says if it does not end. Clients are told that an agent has gone.
func (s *Server) Remove(d pdu.Domain) error {
	s.init()
	a := s.agents.Load().get(d)
	if a == nil || d == pmcdagent.Domain || !s.drop(a) {
		return fmt.Errorf("collector: no agent of domain %d to remove", d)
	}
	err := a.stop()
	s.Logger.Info("agent removed", a.attrs()...)
	return err
}

// NumAgents is the number of agents that are connected.
func (s *Server) NumAgents() int {
	s.init()
	n := 0
	for _, a := range s.agents.Load().list {
		if a.current() != nil {
			n++
		}
	}
	return n
}

// SetNames replaces the names that come from files. Clients are told.
func (s *Server) SetNames(t *pmns.Tree) {
	s.init()
	s.files.Store(t)
	s.changes.note(pdu.ChangeNames)
}

// Serve accepts clients on the listeners, each a stream listener such as TCP or
// unix, until ctx ends, Close is called, or all of them fail. It closes them. Then
// requests in progress are completed within the grace, clients cut off and agents
// ended. Serve returns once, when all that the Server has started has gone: nil if
// ctx or Close ended it, or an error that names the agents still running.
//
// Without listeners it serves clients of DialContext alone. A Server serves
// once.
func (s *Server) Serve(ctx context.Context, ln ...net.Listener) error {
	s.init()
	s.mu.Lock()
	again := s.serving
	s.serving = true
	s.mu.Unlock()
	if again || s.Access != s.accessAtInit {
		for _, l := range ln {
			l.Close()
		}
		if again {
			return errors.New("collector: Serve called twice")
		}
		return errors.Join(errLateAccess, s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var closed sync.WaitGroup
	closed.Go(func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	})
	failed := make(chan error, len(ln))
	for _, l := range ln {
		go func() { failed <- s.accept(ctx, l) }()
	}
	var err error
	for range ln {
		if e := <-failed; e != nil {
			s.Logger.Error("no longer accepting clients", slog.Any("err", e))
			err = errors.Join(err, e)
		}
	}
	if len(ln) == 0 {
		<-ctx.Done()
	}
	cancel()
	closed.Wait()
	return errors.Join(err, s.Close())
}

// DialContext connects a client in this process, without a socket: it speaks
// the protocol at the other end of the returned connection, as over any other.
// Network and address are ignored.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	s.init()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Access != s.accessAtInit {
		return nil, errLateAccess
	}
	near, far := net.Pipe()
	if !s.serveConn(inProcess{far}) {
		near.Close()
		return nil, errClosed
	}
	return near, nil
}

// inProcess is a connection whose client is this process.
type inProcess struct{ net.Conn }

var (
	errClosed     = errors.New("collector: server closed")
	errLateAccess = errors.New("collector: Server.Access was changed after a method call: set it before, or call SetAccess")
)

// Close ends the Server: no client is accepted any more, idle clients are cut
// off at once, busy ones when they have their answer or the grace is over; then
// agents are ended. It returns when all have gone, or after the grace with an
// error that names the agents still running. Called again, it does the same.
func (s *Server) Close() error {
	s.init()
	s.mu.Lock()
	first := !s.hasEnded()
	if first {
		close(s.ended)
	}
	s.mu.Unlock()
	if first {
		s.closeErr = s.close()
		close(s.closed)
	}
	<-s.closed
	return s.closeErr
}

func (s *Server) close() error {
	clients := s.clientList()
	for _, c := range clients {
		c.disconnect(0)
	}
	if !waitFor(&s.wg, s.Grace) {
		for _, c := range clients {
			c.cancelCalls() // also for the agents that it waits for
			c.conn.Close()
		}
	}
	agents := s.agents.Load().list
	errs := make([]error, len(agents))
	var stopping sync.WaitGroup
	for i, a := range agents {
		stopping.Go(func() { errs[i] = a.stop() })
	}
	stopping.Wait()
	if !waitFor(&s.wg, min(s.Grace, reapDelay)) {
		errs = append(errs, s.stuckAgents()...)
	}
	s.agentWG.Wait()
	s.startWatchdog.Do(func() { close(s.watchdogEnded) })
	close(s.endWatchdog)
	<-s.watchdogEnded
	return errors.Join(errs...)
}

// hasEnded reports whether the Server has ended. s.mu is held by whoever starts
// something that Close waits for.
func (s *Server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stuckAgents names the agents in this process that have not returned.
func (s *Server) stuckAgents() []error {
	var errs []error
	s.mu.Lock()
	all := append(slices.Clone(s.agents.Load().list), s.removed...)
	s.mu.Unlock()
	for _, a := range all {
		if n := len(a.calls.slots); n > 0 {
			errs = append(errs, fmt.Errorf("collector: agent %q in this process has not returned from %d requests", a.name(), n))
		}
	}
	if errs == nil {
		errs = append(errs, errors.New("collector: a client does not end"))
	}
	return errs
}

// waitFor waits for a group, but not for ever.
func waitFor(wg *sync.WaitGroup, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
