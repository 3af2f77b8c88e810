//go:build unix && !linux

package daemonfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// redirect makes f a standard stream of the process.
func redirect(stream int, f *os.File) error { return unix.Dup2(int(f.Fd()), stream) }
