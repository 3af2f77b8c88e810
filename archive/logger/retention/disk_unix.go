//go:build unix

package retention

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file until it is closed.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// syncDir has the system write the names of a directory.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) { // a file system without
		err = nil
	}
	return errors.Join(err, d.Close())
}
