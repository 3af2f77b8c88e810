package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// restartDelay is the minimum time between two restarts of an agent that has died. The first
// restart is immediate.
const restartDelay = time.Minute

// exitTimeout is how long an agent may take to exit after its connection is closed, and then
// after each signal.
const exitTimeout = time.Second

// lastRequestTimeout limits a request after the process of its agent has ended.
const lastRequestTimeout = 100 * time.Millisecond

// listenTimeout is how long a started agent may take to listen on its socket.
const listenTimeout = 5 * time.Second

// Bits of pmcd.agent.status.
const (
	statusNotReady  = 1
	statusExited    = 2
	statusNotStart  = 4
	statusProtocol  = 8
	statusExitShift = 8
	statusSigShift  = 16
)

// A dialFunc is DialContext of a net.Dialer.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// A process is an agent in another process: the connection, and the child process if the collector
// has started it.
type process struct {
	*remote.Agent
	cmd     *exec.Cmd     // nil for a socket agent that runs already, and with byRoot
	byRoot  *rootChild    // the process if pmdaroot has started it
	exited  chan struct{} // closed when cmd or byRoot has ended
	stream  remote.Stream // what Agent reads and writes
	socket  string        // a file to remove when cmd has ended, or empty
	dialer  dialFunc      // connects to a socket
	in, out int           // descriptors of stream while it was open, for the trace

	signalled bool // the process was sent a signal because it did not exit
}

// StartAgent hosts the agent of a configuration line and tells clients so.
//
// For a "dso" line it calls a function of DSO. If DSO lacks the entry point, it runs the program
// that PCP's agents have beside their shared object, such as pmdasample -d DOMAIN -l NAME.log for
// sample_init in pmda_sample.so. For other lines it starts a process, or connects to one. A process
// that dies is restarted. The line of pmcd_init gives the Server's own agent its name and its place
// among the others.
//
// An agent that cannot be started counts as one that has died: RestartAgents tries again. The error
// is also logged.
func (s *Server) StartAgent(conf pmcdconf.Agent) error {
	s.init()
	return opError("start", conf.Name, s.startAgent(conf))
}

func (s *Server) startAgent(conf pmcdconf.Agent) error {
	if conf.Kind == "dso" && conf.Domain == pmcdagent.Domain && conf.Entry == "pmcd_init" {
		s.placeOwnAgent(conf)
		return nil
	}
	if conf.Kind == "dso" && s.DSO[conf.Entry] != nil {
		return s.startDSO(conf)
	}
	a := &agent{kind: conf.Kind, conf: conf, argv: conf.Argv, started: make(chan struct{}, 1), done: make(chan struct{})}
	if argv := programOfDSO(conf); conf.Kind == "dso" && argv != nil {
		a.kind, a.argv = "pipe", argv
	}
	a.setName(conf.Name)
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if err := s.add(a); err != nil {
		a.cancel()
		if err != errClosed {
			s.log.Error("agent not started", a.attrs(slog.Any("err", err))...)
		}
		return err
	}
	_, err := s.launch(a)
	return err
}

// placeOwnAgent moves the Server's own agent to the position of its line in the configuration,
// and gives it the name in that line.
func (s *Server) placeOwnAgent(conf pmcdconf.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.agents.Load()
	a := t.get(pmcdagent.Domain)
	a.setName(conf.Name)
	s.pmcdLine.Store(&conf)
	s.agents.Store(t.without(a).with(a))
}

func (a *agent) attrs(more ...any) []any {
	return append([]any{slog.String("agent", a.name()), slog.Int("domain", int(a.domain()))}, more...)
}

// launch starts an agent that does not run, and notifies clients. If started is false and err is
// nil, another goroutine has started it.
func (s *Server) launch(a *agent) (started bool, err error) {
	a.starting.Lock()
	defer a.starting.Unlock()
	switch {
	case a.ctx.Err() != nil:
		return false, errClosed
	case a.remote.Load() != nil:
		return false, nil
	}
	if !s.addAgentWork() {
		return false, errClosed
	}
	defer s.agentWG.Done()
	p, err := s.spawn(a)
	if err == nil && !s.install(a, p) {
		err = errors.Join(errClosed, p.end(exitTimeout))
	}
	switch {
	case a.ctx.Err() != nil: // it has been removed meanwhile
		return false, errClosed
	case err != nil:
		a.status.Store(statusNotStart)
		s.log.Error("agent not started", a.attrs(slog.Any("err", err))...)
		return false, err
	}
	if a.domain() == rootDomain {
		s.connectRootAgent()
	}
	return true, nil
}

// relaunch is like launch, for an agent that has run before or could not be started.
func (s *Server) relaunch(a *agent) {
	if started, _ := s.launch(a); started {
		s.changes.note(pdu.ChangeRestartAgent)
	}
}

// addAgentWork makes Close wait for agentWG.Done. It returns false if the Server has ended.
func (s *Server) addAgentWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded() {
		return false
	}
	s.agentWG.Add(1)
	return true
}

// install directs the agent's requests to a process. It returns false if the agent is to stop.
func (s *Server) install(a *agent, p *process) bool {
	if a.ctx.Err() != nil {
		return false
	}
	a.status.Store(0)
	a.fenced.Store(false)
	s.log.Info("agent started", a.attrs()...) // before the supervisor can log its death
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendAllAttributes(p.Agent)
	a.remote.Store(p)
	p.SetTimeout(s.remoteTimeout()) // it may have changed since p was made
	s.noteAdded(a)
	select {
	case a.started <- struct{}{}:
	default: // the supervisor has not received an earlier one yet
	}
	return true
}

// spawn runs the command of an agent, or connects to its socket, or both. It stops when the agent
// is removed.
func (s *Server) spawn(a *agent) (*process, error) {
	p := &process{exited: make(chan struct{}), dialer: s.dialAgent}
	stream, err := s.connect(p, a)
	if err == nil {
		p.stream = stream
		p.Agent, err = remote.New(a.ctx, pmda.Info{Name: a.conf.Name, Domain: a.conf.Domain}, stream, remote.Config{
			Timeout: s.remoteTimeout(), HelloTimeout: s.limits.agentHello, NotReady: a.conf.NotReady, NameOf: s.nameOf, MaxReply: s.limits.reply,
			Counters: &s.counters, Logger: s.log, Trace: s.traceAgentPDU(stream),
			OnReady: func() { s.changes.note(pdu.ChangeNames) },
		})
	}
	if err == nil {
		p.in, p.out = p.descriptors()
		return p, nil
	}
	if e := p.waitExit(exitTimeout); e != nil {
		return nil, errors.Join(err, e)
	}
	if p.cmd != nil && !p.signalled {
		err = fmt.Errorf("%w (its process: %v)", err, p.state())
	}
	return nil, err
}

// connect opens the stream to an agent. If the agent has a command, connect starts its process.
func (s *Server) connect(p *process, a *agent) (remote.Stream, error) {
	if a.kind == "pipe" {
		if r := s.rootAgentFor(a); r != nil {
			stream, err := p.pipeByRoot(r, a)
			if err == nil {
				return stream, nil
			}
			s.log.Warn("agent is started without root's privileges", a.attrs(slog.Any("err", err))...)
		}
		return p.pipe(a.argv)
	}
	if a.kind == "dso" {
		return nil, s.unknownEntry(a.conf)
	}
	if len(a.argv) > 0 {
		if err := p.start(a.argv, nil, os.Stderr); err != nil {
			return nil, err
		}
		if a.conf.Network == "unix" {
			p.socket = a.conf.Address
		}
	}
	return p.dial(a.ctx, a.conf)
}

// pipe runs a command whose standard input and output are the connection.
func (p *process) pipe(argv []string) (remote.Stream, error) {
	in, toAgent, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromAgent, out, err := os.Pipe()
	if err != nil {
		in.Close()
		toAgent.Close()
		return nil, err
	}
	err = p.start(argv, in, out)
	in.Close()
	out.Close()
	if err != nil {
		toAgent.Close()
		fromAgent.Close()
		return nil, err
	}
	return newPipes(fromAgent, toAgent), nil
}

// start runs a command and waits for its end in the background.
func (p *process) start(argv []string, in, out *os.File) error {
	if len(argv) == 0 {
		return errors.New("no command to start it")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if in != nil {
		cmd.Stdin = in
	}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	go func() {
		cmd.Wait()
		close(p.exited)
	}()
	return nil
}

// state returns how the process has ended. If other code of the program waits for all children,
// the state is unknown and counts as success.
func (p *process) state() *os.ProcessState {
	if p.cmd.ProcessState == nil {
		return new(os.ProcessState)
	}
	return p.cmd.ProcessState
}

// dial connects to a socket agent. An agent that was just started gets time to listen.
func (p *process) dial(ctx context.Context, conf pmcdconf.Agent) (remote.Stream, error) {
	network, addr := "unix", conf.Address
	switch conf.Network {
	case "inet":
		network, addr = "tcp4", net.JoinHostPort("localhost", conf.Address)
	case "ipv6":
		network, addr = "tcp6", net.JoinHostPort("localhost", conf.Address)
	}
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	exited := p.exited
	var before error
	for {
		c, err := p.dialer(ctx, network, addr)
		if err == nil {
			return c.(remote.Stream), nil
		}
		if before != nil && (ctx.Err() != nil || ctxwait.TimedOut(err)) {
			err = before // it says more than a timeout
		}
		if p.cmd == nil {
			return nil, err
		}
		before = err
		select {
		case <-exited:
			if !p.state().Success() {
				return nil, err
			}
			exited = nil // it runs in the background now
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pipes is a connection over two pipes.
type pipes struct {
	io.Reader // r
	io.Writer // w
	r, w      *os.File
}

func newPipes(r, w *os.File) *pipes {
	return &pipes{Reader: rawconn.New(r), Writer: rawconn.New(w), r: r, w: w}
}

func (p *pipes) SetReadDeadline(t time.Time) error  { return p.r.SetReadDeadline(t) }
func (p *pipes) SetWriteDeadline(t time.Time) error { return p.w.SetWriteDeadline(t) }
func (p *pipes) Close() error                       { return errors.Join(p.w.Close(), p.r.Close()) }

// end closes the connection to an agent, and ends its process.
func (p *process) end(timeout time.Duration) error {
	p.Close()
	return p.waitExit(timeout)
}

// waitExit waits for a process to exit at the end of its input. After the timeout it sends
// SIGTERM, and after another one SIGKILL. If SIGKILL does not help either, waitExit fails, and
// the Server stops watching a process that pmdaroot started.
func (p *process) waitExit(timeout time.Duration) error {
	if p.cmd == nil && p.byRoot == nil {
		return nil
	}
	for _, sig := range []os.Signal{nil, syscall.SIGTERM, os.Kill} {
		if sig != nil {
			p.signal(sig)
		}
		t := time.NewTimer(timeout)
		select {
		case <-p.exited:
			t.Stop()
			if p.socket != "" {
				os.Remove(p.socket) // otherwise the next process could not listen there
			}
			return nil
		case <-t.C:
		}
	}
	if p.byRoot != nil {
		p.byRoot.forget()
	}
	return notEnded(fmt.Sprintf("process %d does not end", p.pid()))
}

func (p *process) signal(sig os.Signal) {
	p.signalled = true
	if p.byRoot != nil {
		p.byRoot.signal(sig)
	} else if p.cmd.Process.Signal(sig) != nil {
		p.cmd.Process.Kill() // the system has no SIGTERM
	}
}

func (p *process) pid() int {
	if p.byRoot != nil {
		return p.byRoot.pid
	}
	return p.cmd.Process.Pid
}

// supervise restarts an agent whenever it dies, until the agent is to stop. Then it ends the
// process.
func (s *Server) supervise(a *agent) {
	defer close(a.done)
	var last time.Time // of the latest restart
	died := false
	for a.ctx.Err() == nil {
		if p := a.remote.Load(); p != nil {
			// An agent that ends after it was told to stop has not died.
			if a.waitForEnd(p) && a.ctx.Err() == nil {
				s.cleanUp(a, p)
				died = true
			}
			continue
		}
		var again <-chan time.Time // nil for an agent that has never run
		if died && !s.NoRestart {
			again = time.After(time.Until(last.Add(s.restartDelay)))
		}
		select {
		case <-a.ctx.Done():
		case <-a.started: // by StartAgent or RestartAgents
		case <-again:
			last = time.Now()
			s.relaunch(a)
		}
	}
	a.err = s.endProcess(a)
}

// waitForEnd waits for the end of a process. It returns false if the agent is to stop before. If
// the process of a socket agent exits with success, the agent has moved to the background, and it
// ends with its connection.
func (a *agent) waitForEnd(p *process) bool {
	exited := p.exited
	for {
		select {
		case <-p.Done():
			return true
		case <-exited:
			if a.kind == "pipe" || !p.state().Success() {
				if p.Busy() { // let the request fail with the error of the connection
					select {
					case <-p.Done():
					case <-time.After(lastRequestTimeout):
					}
				}
				return true
			}
			exited = nil
		case <-a.ctx.Done():
			return false
		}
	}
}

// errEndedWell explains the end of a process that exited without an error.
var errEndedWell = errors.New("it ended without an error, as agents do on SIGTERM")

// cleanUp logs how an agent has died, and ends what is left of it.
func (s *Server) cleanUp(a *agent, p *process) {
	why := p.Err()
	s.traceFailure(p.stream, why)
	s.traceAgent(a, p, false)
	err := p.end(exitTimeout)
	attrs := a.attrs(slog.Int("fd", p.in))
	status := statusProtocol
	switch {
	case p.cmd == nil || err != nil:
	case !p.signalled && (why == nil || closedByPeer(why)):
		status = statusExited
		why = nil // the exit explains it
		if p.state().Success() {
			why = errEndedWell
		}
		fallthrough
	default:
		status |= exitStatus(p.state())
		attrs = append(attrs, slog.String("process", p.state().String()))
	}
	if why != nil && closedByPeer(why) {
		why = errors.New("it closed the connection")
	}
	if err = errors.Join(why, err); err != nil {
		attrs = append(attrs, slog.Any("err", err))
	}
	a.status.Store(int32(status))
	attrs = append(attrs, slog.Int("status", status)) // pmcd.agent.status
	s.log.Error("agent died", attrs...)               // before its next start is logged
	s.dumpTrace()
	a.remote.Store(nil)
	a.fenced.Store(false)
	s.changes.note(pdu.ChangeDropAgent)
}

// closedByPeer reports whether a connection has failed because the peer closed it.
func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// endProcess ends the process, if any, of an agent that is to stop.
func (s *Server) endProcess(a *agent) error {
	a.starting.Lock() // after a start in progress
	defer a.starting.Unlock()
	p := a.remote.Swap(nil)
	if p == nil {
		return nil
	}
	if a.domain() == rootDomain && p.cmd != nil && s.isDraining() {
		// On exit it would remove root.socket, which now belongs to the pmdaroot of the process
		// that replaces this one.
		s.killRootAgent(p)
	}
	s.traceAgent(a, p, false)
	err := p.end(s.limits.grace / 3)
	attrs := a.attrs(slog.Bool("shutdown", s.hasEnded()))
	if err == nil && p.cmd != nil {
		attrs = append(attrs, slog.Int("status", exitStatus(p.state())), slog.String("process", p.state().String()))
	}
	s.log.Debug("agent ended", attrs...)
	s.dumpTrace()
	return err
}

// stop ends an agent in another process and waits for it. It fails if the process does not end.
func (a *agent) stop() error {
	if a.cancel == nil {
		return nil
	}
	a.cancel()
	<-a.done
	return a.err
}
