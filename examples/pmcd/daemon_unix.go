//go:build unix

package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	// inDaemon is set, to the process that has started it, in the environment of the process that
	// goes on in the background.
	inDaemon = "PMCD_IN_DAEMON"

	// startFile is the descriptor on which that process says that it listens.
	startFile = 3

	// startTime is how long the process that was started first waits for that. A client that comes
	// too early waits anyway, so that a longer start does not matter much.
	startTime = 10 * time.Second
)

// daemonize starts the program again in a session of its own. In the process that was started first
// it returns true when the other one listens, as it says by calling listening; in that one it
// returns listening.
func daemonize() (parent bool, listening func(), err error) {
	if os.Getenv(inDaemon) == strconv.Itoa(os.Getppid()) {
		os.Unsetenv(inDaemon)
		syscall.CloseOnExec(startFile)
		w := os.NewFile(startFile, "start")
		return false, func() {
			w.Write([]byte{0}) // nobody may wait any more
			w.Close()
		}, nil
	}
	self, err := programPath()
	if err != nil {
		return true, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return true, nil, err
	}
	defer r.Close()
	cmd := exec.Command(self)
	cmd.Args = os.Args // with the name by which scripts look for it in the list of processes
	cmd.Env = append(os.Environ(), inDaemon+"="+strconv.Itoa(os.Getpid()))
	cmd.Stderr = os.Stderr // until the log replaces it; standard output is not passed on, whose end others may wait for
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return true, nil, err
	}
	r.SetReadDeadline(time.Now().Add(startTime))
	if _, err := r.Read([]byte{0}); err == io.EOF {
		cmd.Wait()
		return true, nil, errReported
	}
	return true, nil, cmd.Process.Release()
}

// programPath is the path of this program: that by which it was called, from which the system takes
// the name of the process, unless another program has that path.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return self, nil
	}
	a, aerr := os.Stat(self)
	b, berr := os.Stat(called)
	if aerr == nil && berr == nil && os.SameFile(a, b) {
		return called, nil
	}
	return self, nil
}

// setUmask lets nobody else write to files that agents create, whatever the umask of who starts the
// program.
func setUmask() { syscall.Umask(0o022) }

// setBacklog sets how many connections wait to be accepted; a system that refuses that goes on as
// before.
func setBacklog(l net.Listener, n int) {
	if c, ok := l.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), n) })
		}
	}
}
