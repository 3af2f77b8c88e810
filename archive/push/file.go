package push

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// A file is a file of an incoming archive. It contains only whole records.
type file struct {
	a      *incoming
	name   string
	f      *os.File
	frames framing
	size   int64
	held   []byte // the start of an incomplete record
	dirty  bool   // written since the last sync
}

// createFile creates a file with a label. The error is fs.ErrExist if the file exists.
func (a *incoming) createFile(volume int) (*file, error) {
	f := &file{a: a, name: a.fileName(volume), frames: newFraming(a.version, volume)}
	n := int64(len(a.Label))
	if err := a.r.reserve(a, n); err != nil {
		return f, err
	}
	var err error
	f.f, err = a.r.root.OpenFile(f.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		a.r.release(a, n)
		return f, err
	}
	f.dirty = true
	if _, err := f.f.WriteAt(labelFor(a.Label, volume), 0); err != nil {
		a.r.release(a, n)
		return f, errors.Join(err, f.f.Close(), a.r.root.Remove(f.name))
	}
	f.size = n
	return f, nil
}

// openFile opens a file of an earlier Receiver and truncates it after its last whole record.
func (a *incoming) openFile(volume int) (*file, error) {
	f := &file{a: a, name: a.fileName(volume), frames: newFraming(a.version, volume), dirty: true}
	before, err := a.r.root.Lstat(f.name)
	if err == nil && !before.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", f.name)
	}
	if err != nil {
		return nil, err
	}
	if f.f, err = a.r.root.OpenFile(f.name, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	info, err := f.f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s has changed", f.name)
	}
	if err == nil {
		err = f.recover(labelFor(a.Label, volume), info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, f.f.Close())
	}
	a.r.release(a, info.Size()-f.size)
	return f, nil
}

// recover finds the end of the last whole record, and truncates the file there.
func (f *file) recover(label []byte, size int64) error {
	if size < int64(len(label)) {
		f.size = int64(len(label))
		_, err := f.f.WriteAt(label, 0)
		return err
	}
	f.size = int64(len(label))
	r := bufio.NewReaderSize(io.NewSectionReader(f.f, f.size, size-f.size), readBuffer)
	for f.size < size {
		head, err := r.Peek(min(8, int(size-f.size)))
		if err != nil {
			return err
		}
		n, wrong := f.frames.next(head)
		if wrong != nil || n == 0 || int64(n) > size-f.size {
			break
		}
		if f.frames.entry == 0 {
			if _, err := r.Discard(n - 4); err != nil {
				return err
			}
			tail, err := r.Peek(4)
			if err != nil {
				return err
			}
			if checkTail(tail, n) != nil {
				break
			}
			_, _ = r.Discard(4) // Peek has read them
		} else if _, err := r.Discard(n); err != nil {
			return err
		}
		f.size += int64(n)
	}
	return f.f.Truncate(f.size)
}

// end returns the offset of the next byte.
func (f *file) end() int64 { return f.size + int64(len(f.held)) }

// receive reads a body that begins at an offset of the file. A negative offset means the end of the
// file.
func (f *file) receive(body io.Reader, offset int64) error {
	if offset > f.end() {
		return &failure{http.StatusConflict, fmt.Sprintf("%s ends at %d, not at %d", f.name, f.end(), offset)}
	}
	known := int64(0) // bytes that the file has already
	if offset >= 0 {
		known = f.end() - offset
	}
	buf := make([]byte, readBuffer)
	for {
		n, err := body.Read(buf)
		skip := min(known, int64(n))
		known -= skip
		if wrong := f.add(buf[skip:n]); wrong != nil {
			return wrong
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return f.a.r.bodyError(err)
		}
	}
}

// add writes whole records to the file and keeps the rest in memory.
func (f *file) add(b []byte) error {
	for len(b) > 0 && len(f.held) > 0 {
		n, err := f.frames.next(f.held)
		if err != nil {
			f.drop()
			return err
		}
		if n == 0 {
			n = 8
		}
		take := min(len(b), max(n-len(f.held), 1))
		if err := f.hold(b[:take]); err != nil {
			return err
		}
		b = b[take:]
		if end, records, err := f.frames.whole(f.held); err != nil || end > 0 {
			if err == nil {
				err = f.write(f.held[:end], records)
			}
			if err != nil {
				f.drop()
				return err
			}
			f.drop()
		}
	}
	end, records, wrong := f.frames.whole(b)
	if err := f.write(b[:end], records); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	return f.hold(b[end:])
}

// hold keeps a part of a record in memory.
func (f *file) hold(b []byte) error {
	n := int64(len(b))
	if n == 0 {
		return nil
	}
	if err := f.a.r.reserveHeld(f.a, n); err != nil {
		return err
	}
	f.held = append(f.held, b...)
	return nil
}

// drop discards an incomplete record.
func (f *file) drop() {
	if f == nil || len(f.held) == 0 {
		return
	}
	f.a.r.releaseHeld(f.a, int64(len(f.held)))
	f.held = f.held[:0]
	if cap(f.held) > readBuffer {
		f.held = nil
	}
}

// write writes either all of the whole records in b or none.
func (f *file) write(b []byte, records int) error {
	if len(b) == 0 {
		return nil
	}
	n := int64(len(b))
	r := f.a.r
	if err := r.reserve(f.a, n); err != nil {
		return err
	}
	f.dirty = true
	if _, err := f.f.WriteAt(b, f.size); err != nil {
		r.release(f.a, n)
		return errors.Join(err, f.f.Truncate(f.size))
	}
	f.size += n
	r.stats.bytes.Add(uint64(n))
	return nil
}

func (f *file) sync() error {
	if f == nil || !f.dirty {
		return nil
	}
	err := f.f.Sync()
	f.dirty = err != nil
	return err
}

func (f *file) close() error {
	if f == nil {
		return nil
	}
	f.drop()
	return errors.Join(f.sync(), f.f.Close())
}
