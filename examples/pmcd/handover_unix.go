//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// On handoverSignal the program starts itself anew, by the path and with the arguments that it was
// called with, and gives that process, its successor, the sockets on which it listens, as a service
// manager would. When the successor has started its agents and written its pid file, this process
// takes no further clients and ends when those that it has are done, or after drainTime; they
// connect again. A process that has given up root's privileges has pmdaroot start its successor
// with them. If the successor does not start, it says why and this process goes on.
//
// The successor writes to the log of this process, whose end it awaits to restart agents that could
// not run twice, such as those that listen on a port. Who watches this process has to follow
// pmcd.pid or MAINPID (NotifyAccess=all of systemd) to the successor.
const handoverSignal = syscall.SIGUSR2

// handoverEnv is, in the environment of a successor, the descriptor of the pipe on which the
// successor says that it serves, and whether unix sockets are files of this process or the service
// manager's. The pipe that ends with this process has the next descriptor. ParentEnv is which
// process has started the successor: for others the variables are not meant.
const (
	handoverEnv = "PMCD_HANDOVER"
	parentEnv   = "PMCD_HANDOVER_PARENT"
)

// handoverTime is how long a successor may take to start its agents.
const handoverTime = 5 * time.Minute

func notifyHandover(c chan<- os.Signal) { signal.Notify(c, handoverSignal) }

// A successor is the process that takes the place of this one.
type successor struct {
	alive *os.File // ends with this process, which the successor awaits; so it stays open
}

// handOver has a successor take the place of this process, and reports whether it has.
func (d *daemon) handOver(ctx context.Context, listeners []net.Listener, srv *collector.Server) bool {
	log := srv.Logger
	log.Info("pmcd caught SIGUSR2: starting another process in its place")
	start := startChild
	if d.wasRoot && os.Geteuid() != 0 {
		start = func(cmd *exec.Cmd) (child, error) { return startByRoot(srv, cmd) }
	}
	alive, pid, err := d.startSuccessor(ctx, listeners, start)
	if errors.Is(err, errNoRoot) {
		log.Error("no process takes the place of this one: it has given up root's privileges, with which agents are to start, and has no pmdaroot; restart it, or start it as the user who it is to be",
			slog.String("user", d.user), slog.Any("err", err))
		return false
	}
	if err != nil {
		log.Error("no process takes the place of this one, which serves on", slog.Any("err", err))
		return false
	}
	d.successor = &successor{alive}
	for _, l := range listeners {
		if l, ok := l.(interface{ Leave() }); ok {
			l.Leave()
		}
	}
	if d.isService() {
		if err := daemonfile.Notify("MAINPID=" + strconv.Itoa(pid)); err != nil {
			log.Warn("service manager not told", slog.Any("err", err))
		}
	}
	log.Info("another process takes the place of this one", slog.Int("pid", pid))
	return true
}

// A child is a successor that does not serve yet.
type child interface {
	pid() int
	terminate()  // asks it to end
	wait() error // awaits its end, and returns how it has ended, nil for success
	release()    // leaves it alone
}

// errNoRoot is the error of a process that could start none with the privileges that it has given
// up.
var errNoRoot = errors.New("no process with root's privileges")

// ownChild is a child of this process.
type ownChild struct{ cmd *exec.Cmd }

func startChild(cmd *exec.Cmd) (child, error) { return ownChild{cmd}, cmd.Start() }

func (c ownChild) pid() int    { return c.cmd.Process.Pid }
func (c ownChild) terminate()  { c.cmd.Process.Signal(syscall.SIGTERM) }
func (c ownChild) wait() error { return c.cmd.Wait() }
func (c ownChild) release()    { c.cmd.Process.Release() }

// startSuccessor starts a successor and waits until it serves.
func (d *daemon) startSuccessor(ctx context.Context, listeners []net.Listener, start func(*exec.Cmd) (child, error)) (alive *os.File, pid int, err error) {
	self, err := programPath()
	if err != nil {
		return nil, 0, err
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
			return nil, 0, err
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
		return nil, 0, err
	}
	defer ready.Close()
	cmd.ExtraFiles = append(cmd.ExtraFiles, w)
	r, alive, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	c, err := start(cmd)
	if err != nil {
		alive.Close()
		return nil, 0, err
	}
	w.Close()
	pid = c.pid()
	if err := awaitSuccessor(ctx, c, ready); err != nil {
		alive.Close()
		return nil, 0, err
	}
	return alive, pid, nil
}

// parentOfSuccessor names this process in the environment of a successor that it starts.
func parentOfSuccessor() string { return fmt.Sprintf("%s=%d", parentEnv, os.Getpid()) }

// awaitSuccessor waits until a successor says that it serves; one that does not is ended.
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

// A predecessor is the process whose place this one takes.
type predecessor struct {
	ready, alive *os.File
	ownSockets   bool
}

// findPredecessor returns the process that has started this one to take its place, nil if none has.
func findPredecessor() *predecessor {
	var fd int
	var owner string
	_, err := fmt.Sscan(os.Getenv(handoverEnv), &fd, &owner)
	parent := os.Getenv(parentEnv)
	os.Unsetenv(handoverEnv)
	os.Unsetenv(parentEnv)
	if err != nil || parent != strconv.Itoa(os.Getppid()) {
		return nil
	}
	os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // which that one could not know
	file := func(fd int) *os.File {
		syscall.CloseOnExec(fd)
		_ = syscall.SetNonblock(fd, true) // or reading it would take a thread
		return os.NewFile(uintptr(fd), "handover")
	}
	return &predecessor{file(fd), file(fd + 1), owner == "own"}
}

// inherit makes the files of unix sockets those of this process, if they are the predecessor's.
func (p *predecessor) inherit(listeners []net.Listener) {
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

// relieve tells the predecessor that the collector serves, and restarts agents that could not start
// before that one has ended.
func (p *predecessor) relieve(ctx context.Context, srv *collector.Server) {
	if p == nil {
		return
	}
	p.ready.Write([]byte{0}) // one that has ended needs no word
	p.ready.Close()
	context.AfterFunc(ctx, func() { p.alive.SetReadDeadline(time.Unix(1, 0)) })
	go func() {
		defer p.alive.Close()
		if _, err := p.alive.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			srv.RestartAgents()
		}
	}()
}
