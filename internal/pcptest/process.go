package pcptest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startTimeout bounds the start of a server, on a busy machine and with agents that are slow to
// greet.
const startTimeout = 2 * time.Minute

// endTimeout is how long a server has to end after SIGTERM before it is killed, and then each
// process that it started.
const endTimeout = 20 * time.Second

// Daemon says how Start runs a server.
type Daemon struct {
	Path string   // of the program: see Run
	Args []string // its arguments
	Env  []string // added to Env
	Dir  string   // working directory, empty: this process's

	// Addr is where the server will listen: "host:port", or the path of a unix socket. Start
	// returns once a connection to it succeeds, and with Greets once the server has said something
	// on it (a pmcd greets each client when its agents have started). Empty: Start returns at once.
	Addr   string
	Greets bool
}

// Process is a server that runs until the test ends. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has been waited for
}

// Start starts a server, waits until it is ready, and ends it with the test: SIGTERM, SIGKILL some
// time later, and the same to the processes that it leaves behind. The test fails when the server
// ends or is not ready in time. A test that fails shows the log.
func Start(t testing.TB, d Daemon) *Process {
	t.Helper()
	p, err := start(t, d)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", d.Path, strings.Join(d.Args, " "), err, tail(p.Log()))
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of %s %s:\n%s", d.Path, strings.Join(d.Args, " "), tail(p.Log()))
		}
	})
	return p
}

func start(t testing.TB, d Daemon) (*Process, error) {
	t.Helper()
	p := &Process{log: filepath.Join(t.TempDir(), "log"), done: make(chan struct{})}
	d.Path = executable(t, d.Path)
	log, err := os.Create(p.log)
	if err != nil {
		return p, err
	}
	defer log.Close()
	p.cmd = exec.Command(d.Path, d.Args...)
	p.cmd.Dir = d.Dir
	p.cmd.Env = append(Env(), d.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log // a file, so that waiting does not depend on who else holds it
	dieWithParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return p, err
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.Stop)
	if d.Addr == "" {
		return p, nil
	}
	return p, p.ready(d)
}

// ready polls the server's address.
func (p *Process) ready(d Daemon) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := probe(d.Addr, d.Greets, deadline)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return &startError{"ended at start with " + p.cmd.ProcessState.String()}
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return &startError{"not ready after " + startTimeout.String() + ": " + err.Error()}
		}
	}
}

type startError struct{ msg string }

func (e *startError) Error() string { return e.msg }

func probe(addr string, greets bool, deadline time.Time) error {
	network := "tcp"
	if strings.ContainsRune(addr, '/') {
		network = "unix"
	}
	c, err := net.DialTimeout(network, addr, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if !greets {
		return nil
	}
	c.SetReadDeadline(deadline)
	_, err = io.ReadFull(c, make([]byte, headerLen))
	return err
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns what the server wrote to standard output and standard error so far.
func (p *Process) Log() string {
	b, _ := os.ReadFile(p.log)
	return string(b)
}

// Done is closed when the server has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the server and what it leaves behind, and returns when they are gone. The test's
// cleanup calls it; a second call does nothing.
func (p *Process) Stop() {
	select {
	case <-p.done:
		return
	default:
	}
	agents := descendants(p.PID())
	terminate(p.cmd.Process)
	select {
	case <-p.done:
	case <-time.After(endTimeout):
		p.cmd.Process.Kill()
		<-p.done
	}
	// Agents end when their pipe closes.
	for _, pid := range agents {
		awaitEnd(pid, endTimeout)
	}
}
