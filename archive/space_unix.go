//go:build linux || darwin || freebsd

package archive

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasSpace reports whether the file system of f has more space left than spaceKept.
func hasSpace(f *os.File) bool {
	var s unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &s) != nil || s.Blocks == 0 { // some file systems do not tell
		return true
	}
	size := int64(s.Bsize) // the types are not the same everywhere
	return int64(s.Bavail)*size > spaceKept(int64(s.Blocks)*size)
}
