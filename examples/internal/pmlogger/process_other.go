//go:build !unix

package pmlogger

import (
	"errors"
	"os"
)

// caught are the handled signals.
var caught = []os.Signal{os.Interrupt}

// An action is the effect of a signal.
type action byte

const (
	actNothing action = iota
	actEnd
	actVolume
	actReexec
)

// actionOf returns the number and the effect of a signal.
func actionOf(os.Signal) (number int, a action) { return 2, actEnd }

// exists reports whether a process exists.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}

// execSelf is only supported on Unix.
func execSelf(args, env []string) error { return errors.ErrUnsupported }
