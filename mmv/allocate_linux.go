package mmv

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves the space of a file, where the file system can do that; writing does it on
// others.
func allocate(f *os.File, size int) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, int64(size))
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil, errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
			return nil
		default:
			return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: err}
		}
	}
}
