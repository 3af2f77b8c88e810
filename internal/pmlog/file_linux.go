package pmlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// redirectStderr uses dup3, since not all architectures have dup2.
func redirectStderr(f *os.File) error { return unix.Dup3(int(f.Fd()), 2, 0) }
