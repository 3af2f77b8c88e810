//go:build unix

package pmlogger

import (
	"errors"
	"os"
	"syscall"
)

// caught are the handled signals.
var caught = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}

// An action is the effect of a signal.
type action byte

const (
	actNothing action = iota
	actEnd
	actVolume
	actReexec
)

// actionOf returns the number and the effect of a signal.
func actionOf(s os.Signal) (number int, a action) {
	number = int(s.(syscall.Signal))
	switch s {
	case syscall.SIGHUP:
		return number, actVolume
	case syscall.SIGUSR2:
		return number, actReexec
	case syscall.SIGALRM:
		return number, actNothing
	}
	return number, actEnd
}

// exists reports whether a process exists.
func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// execSelf replaces this process by another run of its program.
func execSelf(args, env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, args, env)
}
