//go:build unix

package daemonfile

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// KeepStderr returns standard error as it is now, before a log replaces it.
func KeepStderr() io.WriteCloser {
	fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return noCloser{os.Stderr}
	}
	return os.NewFile(uintptr(fd), "standard error")
}
