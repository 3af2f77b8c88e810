//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
)

const (
	// inDaemon is an environment variable of the background process. Its value is the ID of the
	// process that has started it.
	inDaemon = "PMREP_IN_DAEMON"

	// startFile is a descriptor. The background process writes to it after it has written the
	// headers.
	startFile = 3
)

// daemonize runs the program again in a new session. In the first process it returns parent after
// the second one has called started. If that has exited before, its status is the error. In the
// second process daemonize returns started.
func daemonize() (parent bool, started func() error, err error) {
	if os.Getenv(inDaemon) == strconv.Itoa(os.Getppid()) {
		os.Unsetenv(inDaemon)
		syscall.CloseOnExec(startFile)
		w := os.NewFile(startFile, "start")
		return false, func() error {
			w.Write([]byte{0}) // nobody may wait any more
			w.Close()
			return nil
		}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return true, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return true, nil, err
	}
	defer r.Close()
	cmd := exec.Command(self)
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), inDaemon+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return true, nil, err
	}
	if _, err := r.Read([]byte{0}); err == io.EOF {
		if cmd.Wait() != nil {
			return true, nil, &pcptool.ExitError{Status: cmd.ProcessState.ExitCode()} // the message is printed
		}
		return true, nil, nil
	}
	return true, nil, cmd.Process.Release()
}
