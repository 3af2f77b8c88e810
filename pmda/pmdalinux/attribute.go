package pmdalinux

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
)

// An attribute is a small file in /sys that has a line about a block device. It
// stays open, until the garbage collector finds it; one that is not there stays so
// as long as the device does. The zero attribute is not opened yet.
type attribute struct {
	f    file
	none bool
}

// lineSize is what a line needs mostly.
const lineSize = 64

// line returns the line, valid until the next call, and whether there is an
// attribute at all. The line is nil if it cannot be read, or is not whole. Of
// several names, the first that exists is taken.
func (a *attribute) line(l *linux, kernel string, names ...string) (line []byte, exists bool) {
	if a.none {
		return nil, false
	}
	for range 2 {
		if a.f.f == nil && !a.find(l, kernel, names) {
			a.none = true
			return nil, false
		}
		text, err := a.f.read()
		if err != nil {
			continue // the device has gone; there may be another of its name
		}
		line, _, whole := bytes.Cut(text, []byte("\n"))
		if !whole && len(text) > 0 {
			return nil, true
		}
		return line, true
	}
	return nil, true
}

// find opens the first file that exists. It is false if there is none.
func (a *attribute) find(l *linux, kernel string, names []string) bool {
	if a.f.buf == nil {
		a.f.buf = make([]byte, lineSize)
	}
	for _, name := range names {
		a.f.path = l.path(path.Join("sys/block", sysName(kernel), name))
		if err := a.f.open(); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// close closes the file.
func (a *attribute) close() {
	if a.f.f != nil {
		a.f.f.Close()
	}
}
