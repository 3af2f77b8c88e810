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
	"github.com/pcp-go/pcp/pmns"
)

// Trace is a set of kinds of events that are kept for the event trace, in the bits of
// pmcd's option -T. pmcd.control.traceconn, tracepdu and tracenobuf show and change
// it; a store into pmcd.control.dumptrace writes the trace to the log.
type Trace uint

const (
	TraceConnections Trace = 1 << 0 // clients and agents that come and go, and failures of their connections
	TracePDUs        Trace = 1 << 1 // PDUs that are sent and received
	TraceUnbuffered  Trace = 1 << 8 // an event that is kept is logged at once as well
)

// A Server is a collector: it hosts agents and serves clients, as pmcd(1) does. Its
// zero value is ready to use. Exported fields may be changed until the first method
// call; the Server does not change them. Safe for concurrent use. Several may run in
// one process.
type Server struct {
	// Logger gets one line for every connection that is refused or broken off and
	// for every change of an agent's state; nil means slog.Default().
	Logger *slog.Logger

	// Names are metric names from files, for agents that do not bring their own.
	// SetNames replaces them while the Server runs.
	Names *pmns.Tree

	// Hostname is the value of pmcd.hostname; empty means os.Hostname.
	Hostname string

	// TmpDir is PCP_TMP_DIR, where running loggers (pmlogger) and inference engines
	// (pmie) leave files that pmcd.pmlogger and pmcd.pmie are made of. RunDir is
	// PCP_RUN_DIR, where files say which engine is the primary one and whether
	// pmproxy runs. A directory that is empty is not looked into.
	TmpDir, RunDir string

	// OnReset, if not nil, is what Reset calls in place of RestartAgents.
	OnReset func()

	// Trace is what the event trace keeps from the start on.
	Trace Trace

	// Labels are the context labels. The zero value has the host's name alone.
	Labels ContextLabels

	// Access is the rules for who may do what; nil lets everybody do everything. Serve
	// and DialContext fail if Access was changed after the first method call. SetAccess
	// and Configure replace the rules while the Server runs. pmcdconf.Parse makes rules
	// of the text of a configuration such as
	//
	//	[access]
	//	disallow ".*" : store;
	//	disallow ":*" : store;
	//
	// which keeps all clients that connect over IPv4 and IPv6 from setting values. In
	// such rules the host "unix:" stands for clients without an IP address: those on
	// unix sockets and those in this process.
	Access *pmcdconf.Access

	// DSO makes the in-process agents that "dso" lines of a configuration name, by
	// their entry point, such as "simple_init". The domain is that of the line.
	DSO map[string]func(domain pdu.Domain) (pmda.Handler, error)

	// Timeout limits how long an agent may take for a reply, and a client for the rest
	// of a PDU of which a part has arrived. 0 means 5 s, less than 0 no limit.
	Timeout time.Duration
	// AgentHelloTimeout limits the wait for the first PDU of an agent that has
	// been started. 0 means 3 s.
	AgentHelloTimeout time.Duration
	// HelloTimeout limits the wait for a client's first PDU. 0 means 60 s, less than 0
	// no limit.
	HelloTimeout time.Duration
	// WriteTimeout limits the wait for a client to read a reply. 0 means 30 s, less
	// than 0 no limit.
	WriteTimeout time.Duration
	// Grace is how long requests in progress may take when the Server ends, and
	// then agents. 0 means 5 s.
	Grace time.Duration
	// NoRestart disables restarting agents that have died.
	NoRestart bool

	// MaxPDU is the greatest length of a PDU accepted from a client. 0 means 64 KiB.
	MaxPDU int
	// MaxMetrics is the greatest number of metrics in a fetch. 0 means 32768.
	MaxMetrics int
	// MaxContexts is the greatest number of contexts of a client. 0 means 64.
	MaxContexts int
	// MaxClients is the greatest number of clients. 0 means 65536.
	MaxClients int
	// MaxReply is the greatest size of a fetch's result, and of that of one agent
	// in it, in bytes: what goes beyond is pdu.ErrTooBig. 0 means 64 MiB.
	MaxReply int
	// MaxInFlight is the greatest size, in bytes, of all large results that are being
	// sent at one time: a client whose result goes beyond gets pdu.ErrAgain. 0 means
	// 512 MiB.
	MaxInFlight int
	// AgentCalls is how many calls of one agent in this process may be in progress
	// at one time; others are queued. It is also how many may be overdue before the
	// agent is fenced. 0 means 4.
	AgentCalls int

	setup        sync.Once
	limits       limits
	log          *slog.Logger
	started      time.Time // the zero of the clock of the Server
	restartDelay time.Duration
	accessAtInit *pmcdconf.Access

	// What may change while the Server runs.
	agents  atomic.Pointer[agentTable]
	names   atomic.Pointer[nameSpace]
	files   atomic.Pointer[pmns.Tree] // the names from files
	access  atomic.Pointer[accessControl]
	timeout atomic.Int64           // of agents, in nanoseconds: pmcd.control.timeout
	labels  atomic.Pointer[string] // those of files, when they were read last
	changes changes
	seqnum  atomic.Uint32 // pmcd.seqnum
	sighups atomic.Uint32 // pmcd.sighups

	counters  pdu.Counters // PDUs of clients and agents
	trace     eventtrace.Trace
	resetting resetting

	dialAgent   dialFunc   // connects to agents with a socket; tests have their own
	configuring sync.Mutex // held by Configure
	adding      sync.Mutex // held while an agent with names is added
	merging     sync.Mutex // held while names are merged

	mu      sync.Mutex // held to change agents, clients, removed and serving, and to close ended
	clients clientTable
	removed []*agent // agents that were removed while calls were in progress
	serving bool     // Serve was called

	requests     sync.Pool    // of *request
	largeReplies atomic.Int64 // bytes of large results that are being sent
	spare        spareFile

	startWatchdog sync.Once
	watchdogEnded chan struct{} // closed when it has ended
	endWatchdog   chan struct{} // closed to end it
	wake          chan struct{} // has room for one, to make it look at once

	ended    chan struct{}  // closed when the Server ends
	wg       sync.WaitGroup // clients and side calls
	agentWG  sync.WaitGroup // supervisors and starts of agents
	closed   chan struct{}  // closed when all of them have ended
	closeErr error          // set before closed is closed
}

// init completes the Server before its first use.
func (s *Server) init() {
	s.setup.Do(func() {
		s.limits = s.makeLimits()
		s.restartDelay = cmp.Or(s.restartDelay, restartDelay)
		if s.dialAgent == nil {
			s.dialAgent = new(net.Dialer).DialContext
		}
		if s.log = s.Logger; s.log == nil {
			s.log = slog.Default()
		}
		s.started = time.Now()
		s.timeout.Store(int64(s.limits.timeout))
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
		s.add(&agent{local: newPMCDAgent(s), kind: pmcdconf.KindDSO})
	})
}

// Add hosts an agent in this process. Its names, if it knows them, join the name
// space. An agent without a log gets the Server's Logger. Errors: a domain that is
// in use or out of range, the agent's own Err, the name of a metric that another
// agent has. Clients are told that an agent was added.
func (s *Server) Add(h pmda.Handler) error {
	return opError("add", h.Info().Name, s.addHandler(h, pmcdconf.Agent{}))
}

// addHandler is Add with the configuration line of the agent.
func (s *Server) addHandler(h pmda.Handler, conf pmcdconf.Agent) error {
	s.init()
	if err := h.Err(); err != nil {
		return err
	}
	if l, ok := pmda.As[pmda.Logging](h); ok {
		l.SetDefaultLogger(s.log)
	}
	s.adding.Lock() // or two might both find a name free
	defer s.adding.Unlock()
	if t := h.Namespace(); t != nil {
		if _, conflicts := pmns.Merge(s.nameTree(), t); len(conflicts) > 0 {
			return fmt.Errorf("a name is in use: %v", conflicts[0])
		}
	}
	a := &agent{local: h, kind: pmcdconf.KindDSO, conf: conf}
	a.setName(conf.Name)
	return s.add(a)
}

// Remove ends the agent of a domain: one in this process is not called any more;
// the input of one in another process is closed, and Remove waits for it to end. The
// error says if it does not. Clients are told that an agent was dropped.
func (s *Server) Remove(d pdu.Domain) error {
	s.init()
	a := s.agents.Load().get(d)
	if a == nil || d == pmcdagent.Domain || !s.drop(a) {
		return &OpError{Op: "remove", Err: fmt.Errorf("no agent of domain %d", d)}
	}
	err := a.stop()
	s.log.Info("agent removed", a.attrs()...)
	return opError("remove", a.name(), err)
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

// SetNames replaces the names that come from files. Clients are told of the
// change.
func (s *Server) SetNames(t *pmns.Tree) {
	s.init()
	s.files.Store(t)
	s.changes.note(pdu.ChangeNames)
}

// Serve accepts clients on the listeners, each a stream listener such as TCP or
// unix, until ctx ends, Close is called, or all of them fail. Then it closes them,
// and the Server as Close does. The error is nil if ctx or Close has ended it and
// nothing is left running.
//
// Without listeners it serves clients of DialContext alone. A Server can serve
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
			return opError("serve", "", errors.New("called twice"))
		}
		return errors.Join(opError("serve", "", errLateAccess), s.Close())
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
			s.log.Error("no longer accepting clients", slog.Any("err", e))
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

// DialContext connects a client in this process to the Server, without a socket.
// The client speaks PCP's protocol over the connection that is returned. Network
// and address are ignored.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	s.init()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Access != s.accessAtInit {
		return nil, opError("dial", "", errLateAccess)
	}
	near, far := net.Pipe()
	if !s.serveConn(inProcess{far}) {
		near.Close()
		return nil, opError("dial", "", errClosed)
	}
	return near, nil
}

// inProcess is a connection whose client is this process.
type inProcess struct{ net.Conn }

// Close ends the Server: no client is accepted any more, idle clients are
// disconnected at once, busy ones when they have their reply or after Grace; then
// agents are ended. It returns when all of that is done, or after Grace with an
// error that names the agents still running. Another Close waits for the first and
// returns the same error.
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
	if !waitFor(&s.wg, s.limits.grace) {
		for _, c := range clients {
			c.cancelCalls() // agents may return then
			c.conn.Close()
		}
	}
	agents := s.agents.Load().list
	errs := make([]error, len(agents))
	var stopping sync.WaitGroup
	for i, a := range agents {
		stopping.Go(func() { errs[i] = opError("stop", a.name(), a.stop()) })
	}
	stopping.Wait()
	if !waitFor(&s.wg, min(s.limits.grace, exitTimeout)) {
		errs = append(errs, s.stuckAgents()...)
	}
	s.agentWG.Wait()
	s.startWatchdog.Do(func() { close(s.watchdogEnded) })
	close(s.endWatchdog)
	<-s.watchdogEnded
	return errors.Join(errs...)
}

// hasEnded reports whether Close was called. Hold s.mu to start something that
// Close waits for.
func (s *Server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stuckAgents is an error for each agent in this process that has not returned.
func (s *Server) stuckAgents() []error {
	var errs []error
	s.mu.Lock()
	all := append(slices.Clone(s.agents.Load().list), s.removed...)
	s.mu.Unlock()
	for _, a := range all {
		if n := len(a.calls.slots); n > 0 {
			errs = append(errs, opError("stop", a.name(), notEnded(fmt.Sprintf("it has not returned from %d requests", n))))
		}
	}
	if errs == nil {
		errs = append(errs, opError("close", "", notEnded("a client does not end")))
	}
	return errs
}

// waitFor waits for a group for at most limit, and reports whether it is done.
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
