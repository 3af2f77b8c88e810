//go:build unix

package filesys

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// SetOwner gives a file the permissions of another and, where that is allowed, its owner and group.
func SetOwner(path string, like fs.FileInfo) error {
	if s, ok := like.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(path, int(s.Uid), int(s.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return os.Chmod(path, like.Mode().Perm())
}
