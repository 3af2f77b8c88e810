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

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/remote"
)

// restartDelay is the least time between two starts of an agent that dies; the
// first restart is immediate.
const restartDelay = time.Minute

// reapDelay is how long an agent whose connection has ended may take to exit by
// itself, and then after a signal.
const reapDelay = time.Second

// hangUpDelay is how long a request may outlive the process of its agent.
const hangUpDelay = 100 * time.Millisecond

// listenDelay is how long an agent that the collector has started may take to
// listen on its socket.
const listenDelay = 5 * time.Second

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

// A process is a started agent: the connection to it, and the child if the
// collector has started it.
type process struct {
	*remote.Agent
	cmd     *exec.Cmd     // nil for a socket agent that runs already
	exited  chan struct{} // closed when cmd has been reaped
	stream  remote.Stream // what Remote speaks over
	socket  string        // a file to remove when cmd has ended, or empty
	dialer  dialFunc      // connects to a socket
	in, out int           // descriptors of stream while it was open, for the trace

	signalled bool // cmd did not end by itself; for who reaps it
}

// Start hosts the agent of a configuration line: a "dso" line makes one in this
// process through DSO, the others start or connect to one in another process,
// which is started again when it dies. An agent that cannot be started is in the
// table all the same, and is tried again by Restart; the error says why it could
// not. Clients are told that an agent was added.
func (s *Server) Start(conf pmcdconf.Agent) error {
	s.init()
	if conf.Kind == pmcdconf.KindDSO {
		return s.startDSO(conf)
	}
	a := &agent{kind: conf.Kind, conf: conf, started: make(chan struct{}, 1), done: make(chan struct{})}
	a.setName(conf.Name)
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if err := s.add(a); err != nil {
		a.cancel()
		if err != errClosed {
			s.Logger.Error("agent not started", a.attrs(slog.Any("err", err))...)
		}
		return err
	}
	_, err := s.launch(a)
	return err
}

func (s *Server) startDSO(conf pmcdconf.Agent) error {
	make := s.DSO[conf.Entry]
	if make == nil {
		return fmt.Errorf("collector: agent %q: no agent in this program answers to the entry point %q", conf.Name, conf.Entry)
	}
	h, err := make(conf.Domain)
	if err != nil {
		return fmt.Errorf("collector: agent %q: %w", conf.Name, err)
	}
	return s.addHandler(h, conf)
}

// Restart starts those agents again that have died or could not be started, as
// pmcd does on SIGHUP, and returns their names.
func (s *Server) Restart() []string {
	s.init()
	var names []string
	for _, a := range s.agents.Load().list {
		if a.handler != nil || a.remote.Load() != nil {
			continue
		}
		names = append(names, a.name())
		s.relaunch(a)
	}
	return names
}

// Configure makes the Server host the agents of a new configuration under its
// access rules, as pmcd does on SIGHUP. It replaces the rules as SetAccess does: a
// configuration without an access section lets everybody do everything. An agent
// whose line says the same goes on, under the name that it has there, one whose
// line has gone or changed ends, new ones and those that have died are started.
// Agents that Add has brought stay. The error joins those of agents that did not
// start.
func (s *Server) Configure(cfg *pmcdconf.Config) error {
	s.init()
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.SetAccess(cfg.Access)
	keep := map[*agent]bool{}
	var fresh []pmcdconf.Agent
	for _, conf := range cfg.Agents {
		switch a := s.agents.Load().get(conf.Domain); {
		case a != nil && (a.domain() == pmcdagent.Domain || a.conf.Equal(conf)):
			keep[a] = true
			a.setName(conf.Name)
		default:
			fresh = append(fresh, conf)
		}
	}
	for _, a := range s.agents.Load().list {
		if !keep[a] && a.conf.Name != "" && s.drop(a) {
			attrs := a.attrs()
			if err := a.stop(); err != nil {
				attrs = append(attrs, slog.Any("err", err))
			}
			s.Logger.Info("agent unconfigured", attrs...)
		}
	}
	s.Restart()
	var errs []error
	for _, conf := range fresh {
		errs = append(errs, s.Start(conf))
	}
	return errors.Join(errs...)
}

func (a *agent) attrs(more ...any) []any {
	return append([]any{slog.String("agent", a.name()), slog.Int("domain", int(a.domain()))}, more...)
}

// launch starts an agent that does not run, and makes it known. It reports
// whether it has; if not, and there is no error, somebody else was faster.
func (s *Server) launch(a *agent) (started bool, err error) {
	a.starting.Lock()
	defer a.starting.Unlock()
	switch {
	case a.ctx.Err() != nil:
		return false, errClosed
	case a.remote.Load() != nil:
		return false, nil
	}
	if !s.work() {
		return false, errClosed
	}
	defer s.agentWG.Done()
	p, err := s.spawn(a)
	if err == nil && !s.install(a, p) {
		err = errors.Join(errClosed, p.end(reapDelay))
	}
	switch {
	case a.ctx.Err() != nil: // it has been removed meanwhile
		return false, errClosed
	case err != nil:
		a.status.Store(statusNotStart)
		s.Logger.Error("agent not started", a.attrs(slog.Any("err", err))...)
		return false, err
	}
	return true, nil
}

// relaunch is launch for an agent that has run before, or could not be started.
func (s *Server) relaunch(a *agent) {
	if started, _ := s.launch(a); started {
		s.changes.note(pdu.ChangeRestartAgent)
	}
}

// work notes that something about agents begins for which Close has to wait;
// false if the Server has ended. It is over with agentWG.Done.
func (s *Server) work() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded() {
		return false
	}
	s.agentWG.Add(1)
	return true
}

// install gives a process its place; false if the agent is to stop.
func (s *Server) install(a *agent, p *process) bool {
	if a.ctx.Err() != nil {
		return false
	}
	a.status.Store(0)
	a.fenced.Store(false)
	s.Logger.Info("agent started", a.attrs()...) // before anybody can log its death
	s.mu.Lock()
	defer s.mu.Unlock()
	s.introduce(p.Agent)
	a.remote.Store(p)
	p.SetTimeout(s.remoteTimeout()) // it may have changed since p was told
	s.greet(a)
	select {
	case a.started <- struct{}{}:
	default: // the supervisor has yet to hear of an earlier one
	}
	return true
}

// spawn runs the command of an agent, or connects to its socket, or both. It
// gives up when the agent is to stop.
func (s *Server) spawn(a *agent) (*process, error) {
	p := &process{exited: make(chan struct{}), dialer: s.dialAgent}
	stream, err := p.connect(a)
	if err == nil {
		p.stream = stream
		p.Agent, err = remote.New(a.ctx, pmda.Info{Name: a.conf.Name, Domain: a.conf.Domain}, stream, remote.Config{
			Timeout: s.remoteTimeout(), HelloTimeout: s.AgentHelloTimeout, NotReady: a.conf.NotReady,
			Counters: &s.counters, Logger: s.Logger, Trace: s.tracePDU(directions(stream)),
			OnReady: func() { s.changes.note(pdu.ChangeNames) },
		})
	}
	if err == nil {
		p.in, p.out = p.descriptors()
		return p, nil
	}
	if e := p.reap(reapDelay); e != nil {
		return nil, errors.Join(err, e)
	}
	if p.cmd != nil && !p.signalled {
		err = fmt.Errorf("%w (its process: %v)", err, p.state())
	}
	return nil, err
}

// connect makes the stream to an agent.
func (p *process) connect(a *agent) (remote.Stream, error) {
	if a.kind == pmcdconf.KindPipe {
		return p.pipe(a.conf.Argv)
	}
	if len(a.conf.Argv) > 0 {
		if err := p.start(a.conf.Argv, nil, os.Stderr); err != nil {
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
	return &pipes{Reader: rawconn.New(fromAgent), Writer: rawconn.New(toAgent), r: fromAgent, w: toAgent}, nil
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

// state is how the process has ended. If the program has another who waits for all
// its children, that is not known, and passes for a good end.
func (p *process) state() *os.ProcessState {
	if p.cmd.ProcessState == nil {
		return new(os.ProcessState)
	}
	return p.cmd.ProcessState
}

// dial connects to a socket agent; one that was just started gets time to
// listen.
func (p *process) dial(ctx context.Context, conf pmcdconf.Agent) (remote.Stream, error) {
	network, addr := "unix", conf.Address
	switch conf.Network {
	case "inet":
		network, addr = "tcp4", net.JoinHostPort("localhost", conf.Address)
	case "ipv6":
		network, addr = "tcp6", net.JoinHostPort("localhost", conf.Address)
	}
	ctx, cancel := context.WithTimeout(ctx, listenDelay)
	defer cancel()
	exited := p.exited
	for {
		c, err := p.dialer(ctx, network, addr)
		if err == nil {
			return c.(remote.Stream), nil
		}
		if p.cmd == nil {
			return nil, err
		}
		select {
		case <-exited:
			if !p.state().Success() {
				return nil, err
			}
			exited = nil // it has gone into the background
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pipes are a connection over two pipes.
type pipes struct {
	io.Reader // r
	io.Writer // w
	r, w      *os.File
}

func (p *pipes) SetReadDeadline(t time.Time) error  { return p.r.SetReadDeadline(t) }
func (p *pipes) SetWriteDeadline(t time.Time) error { return p.w.SetWriteDeadline(t) }
func (p *pipes) Close() error                       { return errors.Join(p.w.Close(), p.r.Close()) }

// end ends the connection to an agent, and its process.
func (p *process) end(patience time.Duration) error {
	p.Close()
	return p.reap(patience)
}

// reap waits for a child to exit, which the end of its input ought to make it
// do, and makes it.
func (p *process) reap(patience time.Duration) error {
	if p.cmd == nil {
		return nil
	}
	for _, sig := range []os.Signal{nil, syscall.SIGTERM, os.Kill} {
		if sig != nil {
			p.signalled = true
			if p.cmd.Process.Signal(sig) != nil {
				p.cmd.Process.Kill() // a system that knows no SIGTERM
			}
		}
		t := time.NewTimer(patience)
		select {
		case <-p.exited:
			t.Stop()
			if p.socket != "" {
				os.Remove(p.socket) // or the next one could not listen there
			}
			return nil
		case <-t.C:
		}
	}
	return fmt.Errorf("process %d does not end", p.cmd.Process.Pid)
}

// supervise starts an agent again when it has died, until the agent is to stop,
// and then ends it.
func (s *Server) supervise(a *agent) {
	defer close(a.done)
	var last time.Time // of the latest restart
	died := false
	for a.ctx.Err() == nil {
		if p := a.remote.Load(); p != nil {
			if a.attend(p) {
				s.bury(a, p)
				died = true
			}
			continue
		}
		var again <-chan time.Time // never, if it could not be started in the first place
		if died && !s.NoRestart {
			again = time.After(time.Until(last.Add(s.restartDelay)))
		}
		select {
		case <-a.ctx.Done():
		case <-a.started: // by Start or Restart
		case <-again:
			last = time.Now()
			s.relaunch(a)
		}
	}
	a.err = s.retire(a)
}

// attend waits for the end of a process; false if the agent is to stop before. A
// process with a socket that exits in good order has gone into the background:
// its connection tells.
func (a *agent) attend(p *process) bool {
	exited := p.exited
	for {
		select {
		case <-p.Done():
			return true
		case <-exited:
			if a.kind == pmcdconf.KindPipe || !p.state().Success() {
				if p.Busy() { // the request sees the end itself, and fails with what that is
					select {
					case <-p.Done():
					case <-time.After(hangUpDelay):
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

// bury takes leave of an agent that has died.
func (s *Server) bury(a *agent, p *process) {
	why := p.Err()
	s.traceFailure(p.stream, why)
	s.traceAgent(a, p, false)
	err := p.end(reapDelay)
	attrs := a.attrs()
	status := statusProtocol
	switch {
	case p.cmd == nil || err != nil:
	case !p.signalled && (why == nil || hungUp(why)):
		status = statusExited
		why = nil // which goes without saying
		fallthrough
	default:
		status |= exitStatus(p.state())
		attrs = append(attrs, slog.String("process", p.state().String()))
	}
	if why != nil && hungUp(why) {
		why = errors.New("it closed the connection")
	}
	if err = errors.Join(why, err); err != nil {
		attrs = append(attrs, slog.Any("err", err))
	}
	a.status.Store(int32(status))
	s.Logger.Error("agent died", attrs...) // before anybody can log its next start
	a.remote.Store(nil)
	a.fenced.Store(false)
	s.changes.note(pdu.ChangeDropAgent)
}

// hungUp reports whether a connection has failed because the other end has gone.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// retire ends the process of an agent that is to stop, if it has one.
func (s *Server) retire(a *agent) error {
	a.starting.Lock() // after a start in progress
	defer a.starting.Unlock()
	p := a.remote.Swap(nil)
	if p == nil {
		return nil
	}
	if err := p.end(s.Grace / 3); err != nil {
		return fmt.Errorf("collector: agent %q: %w", a.name(), err)
	}
	return nil
}

// stop ends an agent in another process. It returns when the process has gone,
// or an error if it does not go.
func (a *agent) stop() error {
	if a.cancel == nil {
		return nil
	}
	a.cancel()
	<-a.done
	return a.err
}
