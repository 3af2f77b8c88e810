package collector

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pmdaroot"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/access"
	"github.com/pcp-go/pcp/pmns"
)

// Trace is a set of kinds of events for the event trace, in the bits of pmcd's option -T.
// pmcd.control.traceconn, tracepdu and tracenobuf show and change it. A store into
// pmcd.control.dumptrace writes the trace to the log.
type Trace uint

const (
	TraceConnections Trace = 1 << 0 // connects, disconnects and failures of clients and agents
	TracePDUs        Trace = 1 << 1 // PDUs sent and received
	TraceUnbuffered  Trace = 1 << 8 // log the trace at each event
)

// A Server is a collector: it hosts agents and serves clients, as pmcd(1) does. Its zero value is
// ready to use. Exported fields may be changed until the first method call; the Server does not
// change them. A Server is safe for concurrent use. Several Servers may run in one process.
type Server struct {
	// Logger logs connections that are refused or fail, changes of an agent's state, and failures
	// of agents in this process without a Logger. Nil means slog.Default(). After 10 equal lines
	// about one agent, or about clients, it logs one a minute with the number of suppressed lines.
	Logger *slog.Logger

	// Names are metric names from files, for agents without a name space. SetNames replaces them
	// while the Server runs.
	Names *pmns.Tree

	// Hostname is the value of pmcd.hostname; empty means os.Hostname.
	Hostname string

	// TmpDir is PCP_TMP_DIR. The files there of running loggers (pmlogger) and inference engines
	// (pmie) are the source of pmcd.pmlogger and pmcd.pmie. RunDir is PCP_RUN_DIR. Its files
	// identify the primary engine and tell whether pmproxy runs. An empty name means no files.
	TmpDir, RunDir string

	// HelpDir is the directory of help.dir and help.pag, PCP's help texts of the metrics pmcd.*:
	// /var/lib/pcp/pmdas/pmcd. If it is empty or lacks these files, the metrics have built-in
	// texts.
	HelpDir string

	// OnReset, if not nil, replaces the default action of Reset, which logs the clients and calls
	// RestartAgents.
	OnReset func()

	// Trace is the initial setting of the event trace.
	Trace Trace

	// Labels are the context labels. The zero value reads no files: it has the names of the host
	// and of its NIS domain (or "localdomain"), and the machine id "localmachine".
	// ContextLabels{MachineID: "/etc/machine-id"} adds the real id. SystemLabels("/etc/pcp") has
	// all labels of C pmcd.
	Labels ContextLabels

	// Access has the access rules. Nil allows all clients everything. Serve and DialContext fail if
	// Access was changed after the first method call. SetAccess and Configure replace the rules
	// while the Server runs. pmcdconf.Parse returns the rules of a configuration such as
	//
	//	[access]
	//	disallow ".*" : store;
	//	disallow ":*" : store;
	//
	// These rules deny stores to all clients that connect over IPv4 and IPv6. In rules the host
	// "unix:" means clients without an IP address: those on unix sockets and those in this process.
	Access *pmcdconf.Access

	// Limits limit each client, except clients in this process. Zero means no limit. A request
	// beyond a limit fails with pdu.ErrAgain, a context with EAGAIN, and the first failure of each
	// client is logged. A client may use the budget of a second at once. SetLimits and Configure
	// replace the limits while the Server runs.
	//
	// Limits.Logins counts the failed logins of a user from an address, from an IPv6 network of 64
	// bits, or from an account on a unix socket. Beyond it, further logins of that user from there
	// fail with pdu.ErrAgain. Zero means 100 a minute.
	Limits pmcdconf.Limits
	// Users, if not nil, may log in by the mechanisms of package sasl. Mechanisms that send the
	// password in the clear need an encrypted connection, a unix socket or a client in this
	// process. A client that has failed to log in may do nothing until it succeeds. After 5
	// failures it is disconnected.
	Users sasl.Users
	// Mechanisms are the names of the allowed mechanisms. Nil allows all of package sasl.
	Mechanisms []string
	// LookupAccount returns the numbers of a user and of the user's main group, for Access and for
	// agents. Nil looks them up in the system. If it fails, agents know only the user's name, and
	// rules of Access for users or groups treat the user as unknown.
	LookupAccount func(user string) (uid, gid int, err error)
	// CredsRequired refuses clients without a known account. On Linux clients on unix sockets have
	// one. A logged-in user has one if LookupAccount finds it. Rules for users and groups in Access
	// imply CredsRequired. It is pmcd's option -S.
	CredsRequired bool

	// DSO has a function for each entry point that "dso" lines of a configuration may name, such as
	// "simple_init". The function returns an agent with the domain of the line. For other entry
	// points see StartAgent.
	DSO map[string]func(domain pdu.Domain) (pmda.Handler, error)

	// RootSocket is the socket of PCP's agent pmdaroot, /var/lib/pcp/pmcd/root.socket. If pmdaroot
	// is the agent of domain 1, the Server connects to it while the process has root's privileges.
	// After the process has given them up, pmdaroot starts and ends the agents of "pipe" lines as
	// root. If RootSocket is empty, agents have the current privileges of the process.
	RootSocket string

	// TLS, if not nil, lets clients encrypt their connections, with "pcps:" and PCP_SECURE_SOCKETS.
	// It needs Certificates or GetCertificate. ClientAuth decides whether clients need a
	// certificate: C pmcd uses tls.VerifyClientCertIfGiven. SetTLS replaces TLS while the Server
	// runs.
	TLS *tls.Config
	// RequireClientCert refuses clients of other hosts without TLS, and clients of any host that
	// use TLS without a certificate that is valid for ClientCAs of TLS. It is pmcd's option -Q.
	RequireClientCert bool

	// Timeout limits the time for an agent's reply, and for the rest of a client's PDU after its
	// first bytes. 0 means 5 s, less than 0 no limit.
	Timeout time.Duration
	// AgentHelloTimeout limits the wait for the first PDU of a started agent. 0 means 3 s.
	AgentHelloTimeout time.Duration
	// WriteTimeout limits the wait for a client to read a reply. 0 means 30 s, less
	// than 0 no limit.
	WriteTimeout time.Duration
	// Grace is the time that requests in progress get when the Server ends, and then agents. 0
	// means 5 s.
	Grace time.Duration
	// NoRestart disables restarting agents that have died.
	NoRestart bool

	// MaxPDU is the maximum length of a PDU accepted from a client. 0 means 64 KiB.
	MaxPDU int
	// MaxMetrics is the maximum number of metrics in a fetch. 0 means 32768.
	MaxMetrics int
	// MaxContexts is the maximum number of contexts of a client. 0 means 64.
	MaxContexts int
	// MaxClients is the maximum number of clients. 0 means 65536.
	MaxClients int
	// MaxReply is the maximum number of bytes of a fetch's result, and of a reply of an agent in
	// another process. A longer one fails with pdu.ErrTooBig. 0 means 16 MiB, the default limit of
	// clients.
	MaxReply int
	// MaxMemory is the maximum number of bytes that the Server holds for all clients. The first 64
	// KiB of each client do not count. A request that would exceed the limit fails with
	// pdu.ErrAgain, unless disconnecting slow clients helps; see Memory in the package
	// documentation. The process takes up to twice as much memory, because garbage is collected
	// later. 0 means 384 MiB.
	MaxMemory int

	// Limits that only tests change: zero means the default.
	handshakeTimeout time.Duration // of the start of TLS; less than 0 means no limit
	maxClientMemory  int           // bytes held for a client
	agentCalls       int           // concurrent calls of one agent in this process

	setup        sync.Once
	limits       limits
	log          *slog.Logger // Logger with a limit for equal lines
	traceLog     *slog.Logger // Logger without that limit, for traced events
	started      time.Time    // the zero of the Server's clock
	restartDelay time.Duration
	accessAtInit *pmcdconf.Access

	// What may change while the Server runs.
	agents       atomic.Pointer[agentTable]
	pmcdLine     atomic.Pointer[pmcdconf.Agent] // of the Server's own agent; nil if it has no line
	names        atomic.Pointer[nameSpace]
	files        atomic.Pointer[pmns.Tree] // the names from files
	access       atomic.Pointer[access.Control]
	secure       atomic.Pointer[tlsSetup]
	clientLimits atomic.Pointer[pmcdconf.Limits]
	logins       loginlimit.Failures
	timeout      atomic.Int64           // of agents, in nanoseconds: pmcd.control.timeout
	labels       atomic.Pointer[string] // the labels in files when they were last read
	labelFaults  atomic.Pointer[string] // the errors of these files
	changes      changes
	seqnum       atomic.Uint32 // pmcd.seqnum
	sighups      atomic.Uint32 // pmcd.sighups

	remotely atomic.Bool // a listener of Serve can be reached from other hosts

	counters  pdu.Counters        // PDUs of clients and agents
	waits     pmcdagent.Latencies // how long replies had to wait for clients
	slow      atomic.Uint64       // clients disconnected because they did not read replies
	trace     eventtrace.Trace
	resetting resetting

	isRoot     func() bool                     // reports whether the process has root's privileges
	rootAgent  atomic.Pointer[rootAgent]       // connection to pmdaroot for starting agents, or nil
	containers atomic.Pointer[pmdaroot.Client] // connection to pmdaroot for containers, or nil

	dialAgent   dialFunc                     // connects to agents with a socket
	configuring sync.Mutex                   // held by Configure
	coming      atomic.Pointer[comingAgents] // of Configure; nil while it does not run
	adding      sync.Mutex                   // held while an agent with names is added
	merging     sync.Mutex                   // held while names are merged

	mu      sync.Mutex // held to change agents, clients, removed and serving, and to close ended
	clients clientTable
	removed []*agent // agents that were removed while calls were in progress
	serving bool     // Serve was called

	requests     sync.Pool     // of *request
	wideRequests chan *request // a few with more memory; the pool has no limit
	ledger       *ledger
	profiles     *ledger      // memory of profiles, which ledger counts too
	lastDrop     atomic.Int64 // when clients were dropped last, on Server.clock
	trim         trimmer

	listeners []net.Listener // of the first Serve, set with serving
	accepted  chan struct{}  // closed when Serve accepts no more clients
	spare     spareFile

	startWatchdog sync.Once
	watchdogEnded chan struct{} // closed when the watchdog has ended
	endWatchdog   chan struct{} // closed to end the watchdog
	wake          chan struct{} // makes the watchdog check at once; has room for one

	draining chan struct{}  // closed when Shutdown is called
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
		if s.isRoot == nil {
			s.isRoot = func() bool { return os.Geteuid() == 0 }
		}
		if s.dialAgent == nil {
			s.dialAgent = new(net.Dialer).DialContext
		}
		if s.traceLog = s.Logger; s.traceLog == nil {
			s.traceLog = slog.Default()
		}
		s.log = loglimit.New(s.traceLog)
		s.started = time.Now()
		s.timeout.Store(int64(s.limits.timeout))
		s.seqnum.Store(1)
		s.files.Store(s.Names)
		s.access.Store(access.New(s.Access))
		s.accessAtInit = s.Access
		limits := s.Limits
		s.clientLimits.Store(&limits)
		s.secure.Store(s.newTLSSetup(s.TLS))
		s.agents.Store(&agentTable{})
		s.accepted = make(chan struct{})
		s.draining, s.ended, s.closed = make(chan struct{}), make(chan struct{}), make(chan struct{})
		s.watchdogEnded, s.endWatchdog = make(chan struct{}), make(chan struct{})
		s.wake = make(chan struct{}, 1)
		s.requests.New = func() any { return new(request) }
		s.wideRequests = make(chan *request, wideRequests)
		s.ledger = newLedger("memory", s.limits.memory, s.limits.clientMem, clientAllowance)
		s.profiles = newLedger("profiles", s.limits.memory/profileShare, min(s.limits.clientMem, clientProfiles), profileAllowance)
		s.startTrace(s.Trace)
		s.noteLabelChanges()
		s.add(&agent{local: newPMCDAgent(s), kind: "dso"})
	})
}

// Add hosts an agent in this process and tells clients so. Its Namespace, if not nil, joins the
// name space. An agent without a Logger logs to the Logger of each Server that hosts it. Errors: a
// domain that is in use or out of range, the agent's own Err, the name of a metric that another
// agent has, a nil Handler or *pmda.Agent.
func (s *Server) Add(h pmda.Handler) error {
	name := ""
	if h != nil {
		name = h.Info().Name
	}
	return opError("add", name, s.addHandler(h, pmcdconf.Agent{}))
}

// addHandler is Add with the configuration line of the agent.
func (s *Server) addHandler(h pmda.Handler, conf pmcdconf.Agent) error {
	s.init()
	if h == nil {
		return errors.New("the Handler is nil")
	}
	if err := h.Err(); err != nil {
		return err
	}
	s.adding.Lock() // otherwise two agents could get the same name
	defer s.adding.Unlock()
	if t := h.Namespace(); t != nil {
		if _, conflicts := pmns.Merge(s.nameTree(), t); len(conflicts) > 0 {
			return fmt.Errorf("a name is in use: %v", conflicts[0])
		}
	}
	a := &agent{local: h, kind: "dso", conf: conf}
	a.setName(conf.Name)
	if b, ok := pmda.As[pmda.Serving](h); ok {
		a.endServing = b.BeginServing(s.log)
	}
	if err := s.add(a); err != nil {
		a.release()
		return err
	}
	return nil
}

// Remove removes the agent of a domain and tells clients so. Requests in progress continue in an
// agent in this process. For an agent in another process, Remove closes the connection and waits
// until the process ends. It returns an error if the process does not end, or if the domain has no
// agent or is that of the Server's own agent.
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

// NumAgents returns the number of connected agents, including the Server's own.
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

// SetNames replaces the names from files and tells clients so.
func (s *Server) SetNames(t *pmns.Tree) {
	s.init()
	s.files.Store(t)
	s.changes.note(pdu.ChangeNames)
}

// Serve accepts clients on stream listeners, such as TCP and unix sockets, until ctx ends, Close or
// Shutdown is called, or all listeners fail. Then it closes the listeners and the Server, as Close
// does. The error is nil if no listener has failed and nothing is left running.
//
// Without listeners Serve serves only clients of DialContext. A nil listener is an error that ends
// the Server. A Server can serve once: a second call closes its listeners, except those of the
// first call, and returns an error.
func (s *Server) Serve(ctx context.Context, ln ...net.Listener) error {
	s.init()
	s.mu.Lock()
	again := s.serving
	s.serving = true
	if !again {
		s.listeners = ln
	}
	s.mu.Unlock()
	if again {
		closeListeners(ln, s.listeners)
		return opError("serve", "", errServedTwice)
	}
	if err := s.checkServe(ln); err != nil {
		closeListeners(ln, nil)
		return errors.Join(opError("serve", "", err), s.Close())
	}
	end := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var closed sync.WaitGroup
	closed.Go(func() {
		select {
		case <-s.draining:
			cancel()
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	})
	s.remotely.Store(slices.ContainsFunc(ln, func(l net.Listener) bool { return !localAddr(l.Addr()) }))
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
	close(s.accepted)
	if len(ln) == 0 {
		<-ctx.Done()
	}
	cancel()
	closed.Wait()
	s.awaitDrain(end)
	return errors.Join(err, s.Close())
}

// closeListeners closes listeners that are not among others.
func closeListeners(ln, others []net.Listener) {
	for _, l := range ln {
		if l != nil && !slices.ContainsFunc(others, func(o net.Listener) bool { return reflect.TypeOf(l).Comparable() && l == o }) {
			l.Close()
		}
	}
}

// checkServe returns why the Server cannot serve on listeners, or nil.
func (s *Server) checkServe(ln []net.Listener) error {
	for i, l := range ln {
		if l == nil {
			return fmt.Errorf("listener %d of %d is nil: look at the error of net.Listen", i+1, len(ln))
		}
	}
	if s.Access != s.accessAtInit {
		return errLateAccess
	}
	return nil
}

// DialContext connects a client in this process to the Server, without a socket. The client speaks
// PCP's protocol over the returned connection, and closes it. The address is ignored.
//
// If network begins with "tcp", the client has the rights of one that connects to a port of this
// computer: its user is unknown until it logs in. Gateways use this for clients that must not have
// the rights of this process. With other networks, such as the "pipe" of pmapi.Local, the client is
// the user of this process.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	s.init()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Access != s.accessAtInit {
		return nil, opError("dial", "", errLateAccess)
	}
	near, far := net.Pipe()
	if !s.serveConn(inProcess{far, strings.HasPrefix(network, "tcp")}) {
		near.Close()
		return nil, opError("dial", "", errClosed)
	}
	return near, nil
}

// inProcess is a connection whose client is in this process.
type inProcess struct {
	net.Conn
	anonymous bool // the client may not have the rights of this process
}

// Close ends the Server. It accepts no more clients, disconnects idle clients at once and busy ones
// after their reply, but at the latest after Grace. Then it ends the agents, which have Grace too.
// The error names the agents that still run after that. Another Close waits for the first and
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
			c.cancelCalls() // so that agents return
			c.conn.Close()
		}
	}
	agents := s.agents.Load().list
	errs := s.stopAgents(agents)
	if !waitFor(&s.wg, min(s.limits.grace, exitTimeout)) {
		errs = append(errs, s.stuckAgents()...)
	}
	s.agentWG.Wait()
	s.trim.end()
	var releasing sync.WaitGroup
	for _, a := range s.agents.Load().list {
		releasing.Go(a.release)
	}
	releasing.Wait()
	s.startWatchdog.Do(func() { close(s.watchdogEnded) })
	close(s.endWatchdog)
	<-s.watchdogEnded
	loglimit.Flush(s.log)
	return errors.Join(errs...)
}

// stopAgents ends agents. It ends pmdaroot last, because pmdaroot may have to end others.
func (s *Server) stopAgents(agents []*agent) []error {
	errs := make([]error, len(agents))
	var stopping sync.WaitGroup
	stop := func(i int, a *agent) { errs[i] = opError("stop", a.name(), a.stop()) }
	for i, a := range agents {
		if a.domain() != rootDomain {
			stopping.Go(func() { stop(i, a) })
		}
	}
	stopping.Wait()
	for i, a := range agents {
		if a.domain() == rootDomain {
			stop(i, a)
		}
	}
	s.closeRootAgent()
	return errs
}

// hasEnded reports whether Close was called. Hold s.mu to start something that Close waits for.
func (s *Server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stuckAgents returns an error for each agent in this process whose calls have not returned.
func (s *Server) stuckAgents() []error {
	var errs []error
	s.mu.Lock()
	all := append(slices.Clone(s.agents.Load().list), s.removed...)
	s.mu.Unlock()
	for _, a := range all {
		if n := a.calls.slots.Len(); n > 0 {
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
