//go:build !linux

package pmdaproc

import (
	"os"
	"path/filepath"
)

// A directory is the /proc of another machine. Paths below it end with a NUL.
type directory struct{ path string }

// A file is an open file.
type file struct{ f *os.File }

var none file

func (d *directory) name(path []byte) string {
	return filepath.Join(d.path, filepath.FromSlash(string(path[:len(path)-1])))
}

// mostKept returns how many files of processes may stay open.
func (d *directory) mostKept() int { return 0 }

func (d *directory) open(path []byte) (file, error) {
	f, err := os.Open(d.name(path))
	return file{f}, err
}

// read reads the next bytes. At the end of the file it returns 0.
func (f file) read(b []byte) (int, error) {
	n, err := f.f.Read(b)
	if n == 0 && err != nil {
		return 0, nil
	}
	return n, nil
}

func (f file) readAt([]byte) (int, error) { return 0, os.ErrInvalid }

func (f file) close() { f.f.Close() }

func (d *directory) readlink(path, b []byte) (int, error) {
	target, err := os.Readlink(d.name(path))
	return copy(b, target), err
}

func (d *directory) list(to []entry) ([]entry, error) { return addEntries(to, d.path) }

func (d *directory) listAt(to []entry, path []byte) []entry {
	to, _ = addEntries(to, d.name(path))
	return to
}

func addEntries(to []entry, path string) ([]entry, error) {
	list, err := os.ReadDir(path)
	for _, e := range list {
		if id, ok := parsePID([]byte(e.Name())); ok {
			to = append(to, entry{id: id})
		}
	}
	return to, err
}

func (d *directory) count(path []byte) (int, error) {
	list, err := os.ReadDir(d.name(path))
	return len(list), err
}
