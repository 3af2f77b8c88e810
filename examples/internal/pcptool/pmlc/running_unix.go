//go:build unix

package pmlc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// running reports whether a process exists.
func running(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
