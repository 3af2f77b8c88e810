package filesys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenRegular opens a file like os.OpenFile, in a directory where other users may have created the
// name: a link is not followed, and a FIFO does not keep it waiting. The error says that it is no
// regular file.
func OpenRegular(path string, flag int, perm fs.FileMode) (*os.File, error) {
	before, err := os.Lstat(path)
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		f, err := os.OpenFile(path, flag|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		before, err = os.Lstat(path) // another program has created it now
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag&^os.O_CREATE|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(before, info)) {
		err = fmt.Errorf("%s is not the regular file that it was", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// WriteNew writes a new file like os.WriteFile. It removes what has the name before, which may be a
// link or a FIFO.
func WriteNew(path string, b []byte, perm fs.FileMode) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
