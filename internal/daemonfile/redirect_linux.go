package daemonfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// redirect makes f a standard stream of the process. It uses dup3, since not all architectures have
// dup2.
func redirect(stream int, f *os.File) error { return unix.Dup3(int(f.Fd()), stream, 0) }
