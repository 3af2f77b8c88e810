package pmlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeStderr has dup3, since not all architectures have dup2.
func takeStderr(f *os.File) error { return unix.Dup3(int(f.Fd()), 2, 0) }
