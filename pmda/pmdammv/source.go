package pmdammv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/pcp-go/pcp/mmv"
)

// A source is where an MMV image is read from: a file of the directory, or the memory of a
// Registry.
type source interface {
	mmv.Source
	// replaced reports whether another image has replaced this one.
	replaced() bool
	// close releases the resources of the source. It may be called during a read, which then
	// fails.
	close()
}

// A fileSource is a file. It is read with pread and never mapped, so changes to the file can only
// affect its own metrics.
type fileSource struct {
	path string
	info fs.FileInfo // when it was opened; its size is how much is read
	h    *os.File    // nil if it is opened whenever it is read
}

var errReplaced = errors.New("another file has taken its place")

// openSource opens a regular file. If keep is false, it is opened again whenever it is read.
func openSource(path string, keep bool) (*fileSource, error) {
	h, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s := &fileSource{path: path, info: info, h: h}
	if !keep {
		s.h = nil
		h.Close()
	}
	return s, nil
}

// openFile opens a regular file. Without O_NONBLOCK it would wait for a writer if the file has been
// replaced by a FIFO.
func openFile(path string) (*os.File, fs.FileInfo, error) {
	h, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := h.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	return h, info, nil
}

func (s *fileSource) Size() int64 { return s.info.Size() }

func (s *fileSource) ReadAt(b []byte, off int64) (int, error) {
	if s.h != nil {
		return s.h.ReadAt(b, off)
	}
	h, info, err := openFile(s.path)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	if !os.SameFile(info, s.info) {
		return 0, &fs.PathError{Op: "open", Path: s.path, Err: errReplaced}
	}
	return h.ReadAt(b, off)
}

// reopen opens the file and keeps it open. It reports success.
func (s *fileSource) reopen() bool {
	h, info, err := openFile(s.path)
	if err != nil {
		return false
	}
	if !os.SameFile(info, s.info) {
		h.Close()
		return false
	}
	s.h = h
	return true
}

// replaced returns false, because a change of the directory reveals a replaced file.
func (s *fileSource) replaced() bool { return false }

func (s *fileSource) close() {
	if s.h != nil {
		s.h.Close()
	}
}

// resized reports whether the file has another size now.
func (s *fileSource) resized() bool {
	info, err := os.Stat(s.path)
	return err == nil && os.SameFile(info, s.info) && info.Size() != s.info.Size()
}

// errnoOf returns the syscall.Errno of an error.
func errnoOf(err error) error {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return fmt.Errorf("%w", err) // equals no other error, so the directory is listed again
}
