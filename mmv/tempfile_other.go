//go:build !unix

package mmv

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
)

// errReadOnly never occurs on these systems.
var errReadOnly = errors.New("read-only file system")

type tempFile struct {
	words []uint64
	info  fs.FileInfo
}

func createFile(dir, name string, size int) (*tempFile, error) {
	return nil, fmt.Errorf("files of values on this system: %w", errors.ErrUnsupported)
}

func (im *image) own(t *tempFile, mapped *atomic.Int64) {}

func (t *tempFile) rename(path string) error { return errors.ErrUnsupported }
