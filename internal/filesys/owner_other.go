//go:build !unix

package filesys

import (
	"io/fs"
	"os"
)

// SetOwner gives a file the permissions of another and, where that is allowed, its owner and group.
func SetOwner(path string, like fs.FileInfo) error { return os.Chmod(path, like.Mode().Perm()) }
