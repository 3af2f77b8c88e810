package pmdalinux

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// maxOpenFiles is the maximum number of device files that an agent keeps open. Reading an open file
// takes a fifth of the time and allocates nothing. But a machine may have thousands of processors
// and disks, and the program with the agent needs descriptors too. Files beyond that number are
// opened for each reading.
const maxOpenFiles = 128

// recheckAfter is the interval between readings of information that rarely changes, such as the
// absence of a file and the contents of a directory.
const recheckAfter = 10 * time.Second

// deviceFiles are the small files with one name, mostly below /sys, of the devices of an instance
// domain. get reads a file at most once in a reading, which startReading begins. They may be used
// by one goroutine at a time.
type deviceFiles[T any] struct {
	l     *linux
	indom *pmda.InDom
	dir   string   // in which the devices have directories
	names []string // possible names of the file; the first that exists is used
	parse func(text []byte, v *T) bool

	of        map[string]*deviceFile[T] // by the names of the devices
	reading   uint64                    // counts calls of startReading
	instances []pdu.Instance            // of the domain at the last of them
	buf       []byte
}

// A deviceFile is the file of one device.
type deviceFile[T any] struct {
	v      T
	ok     bool // the file could be read and parsed: v is its value
	absent bool // there is no such file

	reading uint64         // in which it was read last
	next    time.Time      // when to look for the file again
	f       procfile.Small // closed if it is not kept open
	path    string         // of the first of the names, if that is there
}

// newDeviceFiles returns the files of the devices of a domain. parse sets v, which has the value of
// the last reading, to the value of the text. It must not keep the text. If parse is nil, the files
// are not read and may be directories: only absent is set.
func newDeviceFiles[T any](l *linux, d *pmda.InDom, parse func(text []byte, v *T) bool, dir string, names ...string) *deviceFiles[T] {
	return &deviceFiles[T]{l: l, indom: d, dir: dir, names: names, parse: parse, of: map[string]*deviceFile[T]{}, reading: 1}
}

// deviceFilesOf returns the files of the devices that have rows. The end of each reading of the
// rows starts a reading of the files.
func deviceFilesOf[T, R any](l *linux, r *instances[R], parse func(text []byte, v *T) bool, dir string, names ...string) *deviceFiles[T] {
	a := newDeviceFiles(l, r.indom, parse, dir, names...)
	r.files = append(r.files, a)
	return a
}

// startReading starts a reading. It closes the files of devices that have left the domain.
func (a *deviceFiles[T]) startReading() {
	a.reading++
	now := a.indom.Instances()
	if len(now) == len(a.instances) && (len(now) == 0 || &now[0] == &a.instances[0]) {
		return
	}
	a.instances = now
	there := make(map[string]bool, len(now))
	for _, i := range now {
		there[i.Name] = true
	}
	for device, f := range a.of {
		if !there[device] {
			a.close(f)
			delete(a.of, device)
		}
	}
}

// get returns the file of a device, read in this reading.
func (a *deviceFiles[T]) get(device string) *deviceFile[T] {
	f := a.of[device]
	if f == nil {
		f = new(deviceFile[T])
		a.of[device] = f
	}
	if f.reading != a.reading {
		f.reading = a.reading
		text, ok := a.read(device, f)
		f.ok = ok && a.parse(text, &f.v)
	}
	return f
}

// read reads a file. The text is valid until the next one is read.
func (a *deviceFiles[T]) read(device string, f *deviceFile[T]) (text []byte, ok bool) {
	if f.f.IsOpen() {
		if text, err := a.text(f.f); canStayOpen(err) {
			return text, err == nil
		}
		a.close(f) // the device has gone; there may be another of its name
	}
	now := time.Now()
	if now.Before(f.next) {
		return nil, false
	}
	text, err := a.load(device, f)
	if f.absent = errors.Is(err, fs.ErrNotExist); f.absent || a.parse == nil {
		f.next = now.Add(recheckAfter)
	}
	return text, err == nil && a.parse != nil
}

// canStayOpen reports whether a file can stay open after a read. The kernel returns EINVAL for the
// speed of an interface without a carrier, which may have a carrier at the next read.
func canStayOpen(err error) bool { return err == nil || errors.Is(err, syscall.EINVAL) }

// load opens and reads the file of a device. /sys replaces a slash in the name of a device by an
// exclamation mark.
func (a *deviceFiles[T]) load(device string, f *deviceFile[T]) (text []byte, err error) {
	if f.path != "" {
		if text, err = a.loadPath(f.path, f); !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
		f.path = ""
	}
	device = strings.ReplaceAll(device, "/", "!")
	if !filepath.IsLocal(device) {
		return nil, fs.ErrNotExist
	}
	for i, name := range a.names {
		p := a.l.path(path.Join(a.dir, device, name))
		if text, err = a.loadPath(p, f); !errors.Is(err, fs.ErrNotExist) {
			if i == 0 { // prefer this name as long as the file exists
				f.path = p
			}
			break
		}
	}
	return text, err
}

// loadPath is load for one path. The file stays open if it can and if the limit allows.
func (a *deviceFiles[T]) loadPath(path string, f *deviceFile[T]) (text []byte, err error) {
	if a.l.view != nil {
		return a.loadSys(path)
	}
	if a.parse == nil {
		opened, err := procfile.OpenSmall(path)
		opened.Close()
		return nil, err
	}
	if a.l.openFiles.Add(1) > maxOpenFiles {
		a.l.openFiles.Add(-1)
		n, err := procfile.ReadSmall(path, a.buffer())
		return a.buf[:n], err
	}
	opened, err := procfile.OpenSmall(path)
	if err == nil {
		if text, err = a.text(opened); canStayOpen(err) {
			f.f = opened
			return text, err
		}
		opened.Close()
	}
	a.l.openFiles.Add(-1)
	return text, err
}

// loadSys is load for a path of a container.
func (a *deviceFiles[T]) loadSys(path string) ([]byte, error) {
	f, err := a.l.openSys(path)
	if err != nil || a.parse == nil {
		f.Close()
		return nil, err
	}
	defer f.Close()
	n, err := f.Read(a.buffer())
	switch {
	case err == io.EOF:
		err = nil
	case err == nil && n > procfile.MaxSmall:
		err = procfile.ErrTooLong
	}
	return a.buf[:n], err
}

// text reads an open file. The text is valid until the next read.
func (a *deviceFiles[T]) text(f procfile.Small) ([]byte, error) {
	n, err := f.Read(a.buffer())
	return a.buf[:n], err
}

func (a *deviceFiles[T]) buffer() []byte {
	if a.buf == nil {
		a.buf = make([]byte, procfile.MaxSmall+1)
	}
	return a.buf
}

// close closes a file if it is open.
func (a *deviceFiles[T]) close(f *deviceFile[T]) {
	if f.f.IsOpen() {
		f.f.Close()
		a.l.openFiles.Add(-1)
	}
}

// parseName parses a file that contains a name.
func parseName(text []byte, v *string) bool {
	line, ok := procfile.OnlyLine(text)
	if !ok || !validName(line) {
		return false
	}
	if *v != string(line) {
		*v = string(line)
	}
	return true
}

// refresh is startReading as the Refresh of a group.
func (a *deviceFiles[T]) refresh(context.Context, *pmda.Request) error {
	a.startReading()
	return nil
}
