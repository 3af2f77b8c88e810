//go:build !linux

package procfile

import (
	"io"
	"os"
)

// A handle is an open file.
type handle struct{ f *os.File }

// openHandle opens a file to be read.
func openHandle(path string) (*handle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &handle{f}, nil
}

// pread reads at an offset. At the end of the file it returns 0.
func (h *handle) pread(b []byte, off int64) (int, error) {
	n, err := h.f.ReadAt(b, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// readOnce reads once from the beginning of a file, which it opens and closes.
func readOnce(path string, b []byte) (int, error) {
	h, err := openHandle(path)
	if err != nil {
		return 0, err
	}
	defer h.close()
	return h.pread(b, 0)
}

func (h *handle) close() { h.f.Close() }
