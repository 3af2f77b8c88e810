//go:build unix

package filesys

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock locks a file until it is closed. The error is locked if another program has locked it.
func Lock(f *os.File, locked error) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return locked
	}
	return err
}
