//go:build unix

package handover

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	// inDaemon names the parent of the daemon in the daemon's environment.
	inDaemon = "PCP_IN_DAEMON"

	// startFile is the descriptor that the daemon writes to when it has started.
	startFile = 3
)

// Daemonize starts the program again in a new session, with a standard output that may be nil. In
// the process that calls it first, parent is true when the daemon has called started, or after the
// limit if that is not 0. If the daemon ends before, the error is ErrReported, joined with that of
// its status. In the daemon, parent is false.
func Daemonize(limit time.Duration, stdout *os.File) (parent bool, started func(), err error) {
	if os.Getenv(inDaemon) == strconv.Itoa(os.Getppid()) {
		os.Unsetenv(inDaemon)
		syscall.CloseOnExec(startFile)
		w := os.NewFile(startFile, "start")
		return false, func() {
			w.Write([]byte{0}) // fails if the parent waits no longer
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
	cmd.Args = os.Args // with the name that scripts look for in the list of processes
	cmd.Env = append(os.Environ(), inDaemon+"="+strconv.Itoa(os.Getpid()))
	cmd.Stderr = os.Stderr // until a log replaces it
	if stdout != nil {
		cmd.Stdout = stdout
	}
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return true, nil, err
	}
	if limit > 0 {
		r.SetReadDeadline(time.Now().Add(limit))
	}
	if _, err := r.Read([]byte{0}); err == io.EOF {
		return true, nil, errors.Join(ErrReported, cmd.Wait())
	}
	return true, nil, cmd.Process.Release()
}

// programPath returns the path of this program. It prefers the path in
// os.Args, since the system takes the name of the process from it, unless another program has that
// path.
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
