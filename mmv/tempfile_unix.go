//go:build unix

package mmv

import (
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errReadOnly is the error of a read-only file system.
const errReadOnly = unix.EROFS

// A tempFile is a file with a name that agents do not look at, mapped into memory.
type tempFile struct {
	path  string
	words []uint64
	info  fs.FileInfo
}

// createFile makes a file of zeros that has all its space allocated, so that no store to the memory
// fails.
func createFile(dir, name string, size int) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &tempFile{path: f.Name()}
	if err := t.fill(f, size); err != nil {
		os.Remove(t.path)
		return nil, err
	}
	return t, nil
}

func (t *tempFile) fill(f *os.File, size int) error {
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := allocate(f, size); err != nil {
		return err
	}
	zeros := make([]byte, min(size, 64<<10))
	for n := 0; n < size; n += len(zeros) {
		if _, err := f.Write(zeros[:min(len(zeros), size-n)]); err != nil {
			return err
		}
	}
	var err error
	if t.info, err = f.Stat(); err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return &fs.PathError{Op: "mmap", Path: t.path, Err: err}
	}
	t.words = unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), size/8)
	return nil
}

// own has the memory of the file unmapped when the image is unreachable: when neither the
// registry nor any slot, and thus no running update, refers to it.
func (im *image) own(t *tempFile, mapped *atomic.Int64) {
	mapped.Add(1)
	b := im.bytes
	runtime.AddCleanup(im, func(mapped *atomic.Int64) {
		unix.Munmap(b)
		mapped.Add(-1)
	}, mapped)
}

// rename gives the file its name, or removes it.
func (t *tempFile) rename(path string) error {
	err := os.Rename(t.path, path)
	if err != nil {
		os.Remove(t.path)
	}
	return err
}
