package daemonfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// fileMode is the mode of files under any umask: all users may read logs and process identifiers.
const fileMode = 0o644

// maxTries limits how often a name is cleared for a new file while another process puts files
// there.
const maxTries = 1000

// Rotate creates a file, open for appending. It renames an existing entry, which may be a link or a
// FIFO, to end in ".prev"; a directory or a disk is an error. It opens a device such as /dev/null
// or a terminal as it is, without waiting. The same applies to a link to a device or a pipe, such
// as /dev/stdout, unless others may write to the directory of the link.
func Rotate(path string) (*os.File, error) {
	f, err := create(path, entry.rename)
	if err != nil {
		return nil, err
	}
	return f.File, f.entry.close()
}

// Create is Rotate but removes what has the name.
func Create(path string) (*File, error) { return create(path, entry.remove) }

// A File is a file of Create.
type File struct {
	*os.File
	entry entry
}

// createPID creates a file with the identifier of this process, in the place of one of a process
// that was killed.
func createPID(path string) (*File, error) {
	f, err := Create(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(strconv.Itoa(os.Getpid())); err != nil {
		return nil, errors.Join(err, f.Remove(), f.Close())
	}
	return f, nil
}

// Remove removes the name of the file, unless another file has it by now. A device stays.
func (f *File) Remove() error { return f.entry.removeOwn() }

// Close closes the file.
func (f *File) Close() error { return errors.Join(f.File.Close(), f.entry.close()) }

// create makes room for the file with the function clear.
func create(path string, clear func(entry) error) (*File, error) {
	e, err := openEntry(path)
	if err != nil {
		return nil, err
	}
	f, err := e.openSpecial(path)
	if f == nil && err == nil {
		f, err = e.create(clear)
	}
	if err == nil {
		err = e.identify(f)
	}
	if err != nil {
		e.close()
		return nil, withPath(err, path)
	}
	return &File{File: f, entry: e}, nil
}

// create creates a regular file.
func (e entry) create(clear func(entry) error) (f *os.File, err error) {
	for range maxTries {
		if f, err = e.dir.OpenFile(e.name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, fileMode); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		if err := e.clear(clear); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				if f := e.truncateOwn(); f != nil {
					return f, nil
				}
			}
			return nil, err
		}
	}
	return nil, fmt.Errorf("somebody else created it %d times", maxTries)
}

// identify notes what the entry is, and sets the mode of a file.
func (e *entry) identify(f *os.File) error {
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		e.own = info
		err = f.Chmod(fileMode)
	}
	if err != nil {
		f.Close()
	}
	return err
}

// An entry is a name in a directory.
type entry struct {
	dir  *os.Root
	name string
	own  fs.FileInfo // of the file that this process has created; nil if it has not
}

// openEntry opens the directory of a path. The dot has the system refuse what is no directory
// before it opens it: a FIFO would wait for its other end.
func openEntry(path string) (entry, error) {
	dir, name := filepath.Split(path)
	if path == "" {
		return entry{}, withPath(syscall.ENOENT, path)
	}
	if name == "" || name == "." || name == ".." {
		return entry{}, withPath(errors.New("the path names no file"), path)
	}
	root, err := os.OpenRoot(dir + ".")
	if err != nil {
		return entry{}, withPath(err, path)
	}
	return entry{dir: root, name: name}, nil
}

func (e entry) close() error { return e.dir.Close() }

// clear makes room for a file with the function how. It keeps an entry that must not be replaced,
// and returns an error.
func (e entry) clear(how func(entry) error) error {
	info, err := e.dir.Lstat(e.name)
	switch {
	case err != nil:
		return ignoreNotExist(err)
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&fs.ModeDevice != 0:
		return errNoFile
	}
	return how(e)
}

func (e entry) remove() error { return ignoreNotExist(e.dir.Remove(e.name)) }

// rename renames the entry. If the new name is permanently blocked, it removes the entry.
func (e entry) rename() error {
	err := ignoreNotExist(e.dir.Rename(e.name, e.name+".prev"))
	if err != nil && e.remove() != nil {
		return err
	}
	return nil
}

// removeOwn removes the entry if this process has created it.
func (e entry) removeOwn() error {
	info, err := e.dir.Lstat(e.name)
	if err != nil {
		return ignoreNotExist(err)
	}
	if e.own == nil || !os.SameFile(info, e.own) {
		return nil
	}
	return e.remove()
}

var errNoFile = errors.New("neither a regular file nor a terminal")

// withPath makes an error tell of a whole path, not of a name in a directory.
func withPath(err error, path string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return &fs.PathError{Op: "create", Path: path, Err: err}
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
