//go:build unix

package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/pmda/collector"
)

// Variables in the environment of a successor. The value of handoverEnv is the descriptor of the
// pipe that reports the start of the successor, and whether the files of unix sockets belong to
// this process ("own") or to the service manager. The pipe that ends with this process has the next
// descriptor. The value of parentEnv is the process that has started the successor; any other
// process ignores the variables.
const (
	handoverEnv = "PMCD_HANDOVER"
	parentEnv   = "PMCD_HANDOVER_PARENT"
)

// handoverTime is how long a successor may take to start its agents.
const handoverTime = 5 * time.Minute

// Notify relays to c the signal that asks for a handover, SIGUSR2.
func Notify(c chan<- os.Signal) { signal.Notify(c, syscall.SIGUSR2) }

// Start starts a successor and waits until it serves on the listeners. Closing the listeners then
// leaves the files of unix sockets to it. With asRoot, which may be nil, the successor is started
// with root's privileges.
func Start(ctx context.Context, listeners []net.Listener, asRoot RunAsRoot) (*Successor, error) {
	start := startChild
	if asRoot != nil {
		start = func(cmd *exec.Cmd) (child, error) { return startByRoot(asRoot, cmd) }
	}
	s, err := startSuccessor(ctx, listeners, start)
	if err != nil {
		return nil, err
	}
	for _, l := range listeners {
		if l, ok := l.(interface{ Leave() }); ok {
			l.Leave()
		}
	}
	return s, nil
}

// A child is a successor that does not serve yet.
type child interface {
	pid() int
	terminate()  // asks the process to end
	wait() error // waits until the process has ended; nil means success
	release()    // stops watching the process
}

// ownChild is a child of this process.
type ownChild struct{ cmd *exec.Cmd }

func startChild(cmd *exec.Cmd) (child, error) { return ownChild{cmd}, cmd.Start() }

func (c ownChild) pid() int    { return c.cmd.Process.Pid }
func (c ownChild) terminate()  { c.cmd.Process.Signal(syscall.SIGTERM) }
func (c ownChild) wait() error { return c.cmd.Wait() }
func (c ownChild) release()    { c.cmd.Process.Release() }

// startSuccessor starts a successor and waits until it serves.
func startSuccessor(ctx context.Context, listeners []net.Listener, start func(*exec.Cmd) (child, error)) (*Successor, error) {
	self, err := programPath()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	defer func() {
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
	}()
	owner := "own"
	for _, l := range listeners {
		f, err := collector.ListenerFile(l)
		if err != nil {
			return nil, err
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		if _, unlinks := l.(interface{ Leave() }); !unlinks && l.Addr().Network() == "unix" {
			owner = "manager"
		}
	}
	const stdFiles = 3
	cmd.Args, cmd.Stdout, cmd.Stderr = os.Args, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("LISTEN_FDS=%d", len(listeners)), fmt.Sprintf("%s=%d %s", handoverEnv, stdFiles+len(listeners), owner), parentOfSuccessor())
	ready, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	cmd.ExtraFiles = append(cmd.ExtraFiles, w)
	r, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	c, err := start(cmd)
	if err != nil {
		alive.Close()
		return nil, err
	}
	w.Close()
	pid := c.pid() // unknown once the child is released
	if err := awaitSuccessor(ctx, c, ready); err != nil {
		alive.Close()
		return nil, err
	}
	return &Successor{pid, alive}, nil
}

// parentOfSuccessor names this process in the environment of a successor that it starts.
func parentOfSuccessor() string { return fmt.Sprintf("%s=%d", parentEnv, os.Getpid()) }

// awaitSuccessor waits until a successor says that it serves. It ends one that does not.
func awaitSuccessor(ctx context.Context, c child, ready *os.File) error {
	defer context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Unix(1, 0)) })()
	ready.SetReadDeadline(time.Now().Add(handoverTime))
	_, err := io.ReadFull(ready, make([]byte, 1))
	if err == nil {
		c.release()
		return nil
	}
	if err != io.EOF {
		c.terminate()
	}
	if status := c.wait(); status != nil {
		err = status
	}
	return fmt.Errorf("it has not started: %w", err)
}

// A Predecessor is the process whose place this one takes. The methods of a nil Predecessor do
// nothing.
type Predecessor struct {
	ready, alive *os.File
	ownSockets   bool
}

// FindPredecessor returns the process that started this one as its replacement, or nil. A second
// call returns nil.
func FindPredecessor() *Predecessor {
	var fd int
	var owner string
	_, err := fmt.Sscan(os.Getenv(handoverEnv), &fd, &owner)
	parent := os.Getenv(parentEnv)
	os.Unsetenv(handoverEnv)
	os.Unsetenv(parentEnv)
	if err != nil || parent != strconv.Itoa(os.Getppid()) {
		return nil
	}
	os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // which the predecessor could not know
	file := func(fd int) *os.File {
		syscall.CloseOnExec(fd)
		_ = syscall.SetNonblock(fd, true) // a blocking descriptor would occupy a thread
		return os.NewFile(uintptr(fd), "handover")
	}
	return &Predecessor{file(fd), file(fd + 1), owner == "own"}
}

// Inherit makes this process remove the files of unix sockets that the predecessor has created.
func (p *Predecessor) Inherit(listeners []net.Listener) {
	if p == nil || !p.ownSockets {
		return
	}
	for i, l := range listeners {
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
			if own, err := daemonfile.Inherit(u); err == nil { // or the file is gone
				listeners[i] = own
			}
		}
	}
}

// Relieve tells the predecessor that this process serves. It calls ended when the predecessor has
// ended, unless ctx ends first.
func (p *Predecessor) Relieve(ctx context.Context, ended func()) {
	if p == nil {
		return
	}
	p.ready.Write([]byte{0}) // fails if the predecessor has ended
	p.ready.Close()
	context.AfterFunc(ctx, func() { p.alive.SetReadDeadline(time.Unix(1, 0)) })
	go func() {
		defer p.alive.Close()
		if _, err := p.alive.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			ended()
		}
	}()
}
