//go:build !unix

package daemonfile

import (
	"io/fs"
	"os"
)

// openSpecial opens path if it is a device; else it returns nil.
func (e entry) openSpecial(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeDevice == 0 {
		return nil, nil
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

// truncateOwn does without the file.
func (e entry) truncateOwn() *os.File { return nil }
