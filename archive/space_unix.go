//go:build linux || darwin || freebsd

package archive

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasSpace reports whether the file system of f has more than 1/spaceShare of its space left.
func hasSpace(f *os.File) bool {
	var s unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &s) != nil || s.Blocks == 0 { // some file systems do not tell
		return true
	}
	return int64(s.Bavail) > int64(s.Blocks/spaceShare) // the type of Bavail is not the same everywhere
}
