package archive

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// A disk is a file system: fsys, or that of the operating system if fsys is nil.
type disk struct{ fsys fs.FS }

// A source is an open file.
type source interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

func (d disk) stat(name string) (fs.FileInfo, error) {
	if d.fsys != nil {
		return fs.Stat(d.fsys, name)
	}
	return os.Stat(name)
}

func (d disk) exists(name string) bool {
	info, err := d.stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (d disk) isDir(name string) bool {
	info, err := d.stat(name)
	return err == nil && info.IsDir()
}

// readDir returns the names in a directory, sorted.
func (d disk) readDir(dir string) ([]string, error) {
	var entries []fs.DirEntry
	var err error
	if d.fsys != nil {
		entries, err = fs.ReadDir(d.fsys, dir)
	} else {
		entries, err = os.ReadDir(dir)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// split returns the directory and the last component of a name.
func (d disk) split(name string) (dir, last string) {
	if d.fsys != nil {
		return path.Dir(name), path.Base(name)
	}
	return filepath.Dir(name), filepath.Base(name)
}

func (d disk) join(dir, name string) string {
	if d.fsys != nil {
		return path.Join(dir, name)
	}
	return filepath.Join(dir, name)
}

// open opens a regular file. Opening a pipe would wait for its other side.
func (d disk) open(name string) (fs.File, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	var f fs.File
	if d.fsys != nil {
		f, err = d.fsys.Open(name)
	} else {
		f, err = os.Open(name)
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	return f, nil
}
