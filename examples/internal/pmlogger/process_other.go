//go:build !unix

package pmlogger

import (
	"errors"
	"os"
)

// caught are the signals that mean something.
var caught = []os.Signal{os.Interrupt}

// What signals do.
type action byte

const (
	actNothing action = iota
	actEnd
	actVolume
	actReexec
)

// actionOf is what a signal does, and its number.
func actionOf(os.Signal) (number int, a action) { return 2, actEnd }

// exists reports whether there is a process.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}

// execSelf fails: only Unix can do it.
func execSelf(args, env []string) error { return errors.ErrUnsupported }
