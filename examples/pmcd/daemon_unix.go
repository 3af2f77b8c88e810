//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// inDaemon marks the environment of the process that goes on in the background.
const inDaemon = "PMCD_IN_DAEMON"

// daemonize starts the program again in a session of its own. It reports whether
// this is the process that started it, whose work is done.
func daemonize() (parent bool, err error) {
	if os.Getenv(inDaemon) != "" {
		os.Unsetenv(inDaemon)
		return false, nil
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), inDaemon+"=1")
	cmd.Stderr = os.Stderr // until the log replaces it; standard output is not passed on, whose end others may wait for
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	return true, cmd.Process.Release()
}

// keepStderr returns standard error as it is now, before a log replaces it.
func keepStderr() io.WriteCloser {
	fd, err := syscall.Dup(2)
	if err != nil {
		return noCloser{os.Stderr}
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "standard error")
}
