package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// restartDelay is the least time between two starts of an agent that dies; the
// first restart is immediate.
const restartDelay = time.Minute

// reapDelay is how long an agent whose connection has ended may take to exit by
// itself, and then after a signal.
const reapDelay = time.Second

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

// A process is a started agent: the connection to it, and the child if the
// collector has started it.
type process struct {
	*pmda.Remote
	cmd    *exec.Cmd     // nil for a socket agent that runs already
	exited chan struct{} // closed when cmd has been reaped
	stream pmda.Stream   // what Remote speaks over
}

// Start hosts the agent of a configuration line: a "dso" line makes one in this
// process through DSO, the others start or connect to one in another process,
// which is started again when it dies. An agent that cannot be started is in the
// table all the same, and is tried again by Restart; the error says why it could
// not. Clients are told that an agent was added.
func (s *Server) Start(conf AgentConfig) error {
	s.init()
	if conf.Kind == KindDSO {
		return s.startDSO(conf)
	}
	a := &agent{kind: conf.Kind, conf: conf, done: make(chan struct{}), quit: make(chan struct{})}
	if err := s.add(a); err != nil {
		return err
	}
	err := s.launch(a)
	if err != nil {
		a.status.Store(statusNotStart)
		s.Logger.Error("agent not started", a.attrs(slog.Any("err", err))...)
	}
	s.agentWG.Go(func() {
		defer close(a.done)
		s.supervise(a)
	})
	return err
}

func (s *Server) startDSO(conf AgentConfig) error {
	make := s.DSO[conf.Entry]
	if make == nil {
		return fmt.Errorf("collector: agent %q: no agent in this program answers to the entry point %q", conf.Name, conf.Entry)
	}
	h, err := make(conf.Domain)
	if err != nil {
		return fmt.Errorf("collector: agent %q: %w", conf.Name, err)
	}
	if c, ok := h.(interface{ Err() error }); ok && c.Err() != nil {
		return c.Err()
	}
	return s.add(&agent{handler: h, kind: KindDSO, conf: conf})
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
		if err := s.launch(a); err != nil {
			s.Logger.Error("agent not started", a.attrs(slog.Any("err", err))...)
			continue
		}
		s.changes.note(pdu.RestartAgent)
	}
	return names
}

// Configure makes the Server host the agents of a new configuration under its
// access rules, as pmcd does on SIGHUP: an agent whose line says the same goes
// on, one whose line has gone or changed ends, new ones and those that have died
// are started. Agents that Add has brought stay. Clients are checked against the
// new rules. The error joins those of agents that did not start.
func (s *Server) Configure(cfg *Config) error {
	s.init()
	s.access.Store(cfg.Access)
	s.mu.Lock()
	clients := slices.Collect(s.clients.all())
	s.mu.Unlock()
	for _, c := range clients {
		c.recheck()
	}
	keep := map[*agent]bool{}
	var fresh []AgentConfig
	for _, conf := range cfg.Agents {
		switch a := s.agents.Load().get(conf.Domain); {
		case a != nil && (a.domain() == pmcdDomain || a.conf.Equal(conf)):
			keep[a] = true
		default:
			fresh = append(fresh, conf)
		}
	}
	for _, a := range s.agents.Load().list {
		if !keep[a] && a.conf.Name != "" {
			s.drop(a)
			if err := a.stop(s.Grace); err != nil {
				s.Logger.Error("agent", slog.Any("err", err))
			}
			s.Logger.Info("agent unconfigured", a.attrs()...)
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

// launch starts an agent and makes it known.
func (s *Server) launch(a *agent) error {
	p, err := s.spawn(a)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		s.end(a, p, s.Grace)
		return errClosed
	default:
	}
	a.status.Store(0)
	a.fenced.Store(false)
	if !a.remote.CompareAndSwap(nil, p) {
		s.end(a, p, s.Grace)
		return nil
	}
	s.greet(a)
	s.Logger.Info("agent started", a.attrs()...)
	return nil
}

// spawn runs the command of an agent, or connects to its socket, or both.
func (s *Server) spawn(a *agent) (*process, error) {
	p := &process{exited: make(chan struct{})}
	var stream pmda.Stream
	var err error
	switch {
	case a.kind == KindPipe:
		stream, err = p.pipe(a.conf.Argv)
	default:
		if len(a.conf.Argv) > 0 {
			if err := p.start(a.conf.Argv, nil, os.Stderr); err != nil {
				return nil, err
			}
		}
		stream, err = p.dial(a.conf)
	}
	if err == nil {
		p.stream = stream
		p.Remote, err = pmda.NewRemote(pmda.Info{Name: a.conf.Name, Domain: a.conf.Domain}, stream, pmda.RemoteConfig{
			Timeout: s.remoteTimeout(), HelloTimeout: s.AgentHelloTimeout, NotReady: a.conf.NotReady,
			Counters: &s.counters, Logger: s.Logger, Trace: s.tracePDU(directions(stream)),
			Ready: func() { s.changes.note(pdu.NamesChange) },
		})
	}
	if err != nil {
		p.reap(reapDelay)
		return nil, err
	}
	return p, nil
}

// pipe runs a command whose standard input and output are the connection.
func (p *process) pipe(argv []string) (pmda.Stream, error) {
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
	return &pipes{r: fromAgent, w: toAgent}, nil
}

// start runs a command and waits for its end in the background.
func (p *process) start(argv []string, in, out *os.File) error {
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

// dial connects to a socket agent; one that was just started gets time to
// listen.
func (p *process) dial(conf AgentConfig) (pmda.Stream, error) {
	network, addr := "unix", conf.Address
	switch conf.Network {
	case "inet":
		network, addr = "tcp4", net.JoinHostPort("localhost", conf.Address)
	case "ipv6":
		network, addr = "tcp6", net.JoinHostPort("localhost", conf.Address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), listenDelay)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			return c.(pmda.Stream), nil
		}
		if p.cmd == nil {
			return nil, err
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%w (its process has exited: %v)", err, p.cmd.ProcessState)
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pipes are a connection over two pipes.
type pipes struct{ r, w *os.File }

func (p *pipes) Read(b []byte) (int, error)         { return p.r.Read(b) }
func (p *pipes) Write(b []byte) (int, error)        { return p.w.Write(b) }
func (p *pipes) SetReadDeadline(t time.Time) error  { return p.r.SetReadDeadline(t) }
func (p *pipes) SetWriteDeadline(t time.Time) error { return p.w.SetWriteDeadline(t) }
func (p *pipes) Close() error                       { return errors.Join(p.w.Close(), p.r.Close()) }

// reap waits for a child to exit, which the end of its input ought to make it
// do, and makes it.
func (p *process) reap(patience time.Duration) error {
	if p.cmd == nil {
		return nil
	}
	for _, sig := range []os.Signal{nil, syscall.SIGTERM, os.Kill} {
		if sig != nil && p.cmd.Process.Signal(sig) != nil {
			p.cmd.Process.Kill() // a system that knows no SIGTERM
		}
		t := time.NewTimer(patience)
		select {
		case <-p.exited:
			t.Stop()
			return nil
		case <-t.C:
		}
	}
	return fmt.Errorf("process %d does not end", p.cmd.Process.Pid)
}

// supervise starts an agent again when it has died, until the agent is to stop.
func (s *Server) supervise(a *agent) {
	var last time.Time // of the latest restart
	for {
		p := a.remote.Load()
		if p == nil {
			// Not started: somebody may call Restart.
			if !a.pause(restartDelay) {
				return
			}
			continue
		}
		select {
		case <-p.Done():
		case <-p.exited:
		case <-a.quit:
			return
		}
		s.bury(a, p)
		if s.NoRestart {
			continue
		}
		if !a.pause(time.Until(last.Add(restartDelay))) {
			return
		}
		last = time.Now()
		if err := s.launch(a); err != nil {
			s.Logger.Error("agent not restarted", a.attrs(slog.Any("err", err))...)
			continue
		}
		s.changes.note(pdu.RestartAgent)
	}
}

// pause waits; false if the agent is to stop.
func (a *agent) pause(d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.quit:
		return false
	}
}

// bury takes leave of an agent that has died.
func (s *Server) bury(a *agent, p *process) {
	status := statusProtocol
	select {
	case <-p.exited:
		status = statusExited
	default:
	}
	err := p.Err()
	s.traceFailure(p.stream, err)
	s.traceAgent(a, p, false)
	p.Close()
	if e := p.reap(reapDelay); e != nil {
		s.Logger.Error("agent", a.attrs(slog.Any("err", e))...)
	}
	what := "closed the connection"
	if p.cmd != nil && p.cmd.ProcessState != nil {
		what = p.cmd.ProcessState.String()
		status |= exitStatus(p.cmd.ProcessState)
	}
	a.status.Store(int32(status))
	if a.remote.CompareAndSwap(p, nil) {
		s.changes.note(pdu.DropAgent)
	}
	s.Logger.Error("agent died", a.attrs(slog.String("process", what), slog.Any("err", err))...)
}

// stop ends an agent in another process. It returns when the process has gone,
// or an error if it does not go.
func (a *agent) stop(grace time.Duration) error {
	if a.quit == nil {
		return nil
	}
	a.once.Do(func() { close(a.quit) })
	<-a.done
	p := a.remote.Swap(nil)
	if p == nil {
		return nil
	}
	p.Close()
	if err := p.reap(grace / 3); err != nil {
		return fmt.Errorf("collector: agent %q: %w", a.name(), err)
	}
	return nil
}

// end ends a process that has no place in the table.
func (s *Server) end(a *agent, p *process, grace time.Duration) {
	s.agentWG.Go(func() {
		p.Close()
		if err := p.reap(grace / 3); err != nil {
			s.Logger.Error("agent", a.attrs(slog.Any("err", err))...)
		}
	})
}
