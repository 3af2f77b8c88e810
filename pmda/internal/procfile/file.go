package procfile

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// MaxFile is how long a file may be. The longest known is /proc/interrupts on
// more than a thousand processors, with some megabytes.
const MaxFile = 64 << 20

// RetryAbsent is how long a file that was not there is taken to be absent.
const RetryAbsent = 10 * time.Second

// Single is the Record of a file that is a single record.
const Single = -1

// A File is a file that is read whole, again and again, into the same memory. It
// stays open: a read from its beginning makes the kernel write it again. The zero File
// with a Path is ready for use. It must not be copied after the first Read.
type File struct {
	Path string

	// Reopen says that the file is opened for each Read and closed after it.
	Reopen bool

	// Record is the greatest length of a record of the file, mostly a line. By it, a
	// read is known to have reached the end of the file: the kernel puts one record
	// after the other into a buffer of at least a page, and a read returns them when
	// the next one does not fit. A read of so little that another record would have
	// fitted was the last. Single means that the file is one record, so that every read
	// with room for more is the last. Zero means that the length is not known: then the
	// end is where a read returns nothing.
	Record int

	h      *handle
	buf    []byte
	n      int       // how much of buf has been read
	whole  bool      // that is all of the file
	absent error     // the error of the last open if the file did not exist
	retry  time.Time // when to try to open it again
}

// Read returns the present contents of the file, valid until the next Read. The error is an
// *fs.PathError if the file cannot be opened or read. A missing file is not opened again before
// RetryAbsent. After an error in reading, the next Read opens the file again.
func (f *File) Read() ([]byte, error) { return f.ReadHead(MaxFile) }

// ReadHead is like Read, but the caller may need only the first n bytes: the kernel need not
// write the records after them. It returns at least those bytes, or the whole file if it is
// shorter. The result may end within a line.
func (f *File) ReadHead(n int) ([]byte, error) {
	if f.Record == Single || f.Reopen {
		n = MaxFile // the kernel writes it whole in any case, or it is not open any more
	}
	f.n, f.whole = 0, false
	if err := f.Open(); err != nil {
		return nil, err
	}
	return f.readOpen(n)
}

// ReadRest returns what ReadHead has returned, and what comes after it. The kernel may
// have written that later. Both are valid until the next ReadHead.
func (f *File) ReadRest() ([]byte, error) {
	if f.whole {
		return f.buf[:f.n], nil
	}
	if err := f.Open(); err != nil {
		return nil, err
	}
	return f.readOpen(MaxFile)
}

// Whole reports whether all of the file has been read.
func (f *File) Whole() bool { return f.whole }

// Close closes the file if it is open. The next Read opens it again.
func (f *File) Close() {
	if f.h != nil {
		f.h.close()
		f.h = nil
	}
}

// Open opens the file if it is not open, as Read does. Its errors are those of Read.
func (f *File) Open() error {
	if f.h != nil {
		return nil
	}
	now := time.Now()
	if f.absent != nil && now.Before(f.retry) {
		return f.absent
	}
	h, err := openHandle(f.Path)
	if f.absent = nil; errors.Is(err, fs.ErrNotExist) {
		f.absent, f.retry = err, now.Add(RetryAbsent)
	}
	if err != nil {
		return err
	}
	f.h = h
	return nil
}

// page is the least length of the buffer that the kernel fills for a read, and the length
// of the longest file below /sys.
const page = 4 << 10

// readOpen reads the open file on until n bytes have been read, or all.
func (f *File) readOpen(n int) ([]byte, error) {
	err := f.readOn(n)
	if err != nil || f.Reopen {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	return f.buf[:f.n], nil
}

// readOn is readOpen without its result.
func (f *File) readOn(n int) error {
	if f.buf == nil {
		f.buf = make([]byte, f.firstBuffer())
	}
	for f.n < n && !f.whole {
		free := f.buf[f.n:min(n, len(f.buf))]
		m, err := f.h.pread(free, int64(f.n))
		if err != nil {
			return &fs.PathError{Op: "read", Path: f.Path, Err: err}
		}
		f.n += m
		f.whole = m == 0 || m < len(free) && f.isLast(m)
		if !f.whole && f.n >= MaxFile {
			return fmt.Errorf("%s has more than %d bytes", f.Path, MaxFile)
		}
		if !f.whole && len(f.buf)-f.n < page { // also after a full buffer, so that it fits the next time
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
	return nil
}

// firstBuffer is the length of the buffer for the first Read. It is short for files below
// /proc/sys, mostly a number: the kernel clears as much memory for each read.
func (f *File) firstBuffer() int {
	if f.Record == Single {
		return page / 8
	}
	return 2 * page
}

// isLast reports whether a read of m bytes that had room for more was the last.
func (f *File) isLast(m int) bool {
	return f.Record == Single || f.Record > 0 && m+f.Record <= page
}

// A Small is a small file, such as an attribute of a device below /sys, which a
// single read returns whole. Which of many are kept open is up to the caller.
type Small struct{ h *handle }

// MaxSmall is how long a small file is at most: a page.
const MaxSmall = page

// OpenSmall opens a file. The error is an *fs.PathError.
func OpenSmall(path string) (Small, error) {
	h, err := openHandle(path)
	return Small{h}, err
}

// IsOpen reports whether the file is open.
func (s Small) IsOpen() bool { return s.h != nil }

// Read reads the file into buf, which has room for more than MaxSmall bytes. It
// returns how long the file is. The error is ErrTooLong if it is longer than a small
// file can be, else a syscall.Errno.
func (s Small) Read(buf []byte) (n int, err error) {
	n, err = s.h.pread(buf[:MaxSmall+1], 0)
	return n, tooLong(n, err)
}

// ReadSmall is OpenSmall, Read and Close.
func ReadSmall(path string, buf []byte) (n int, err error) {
	n, err = readOnce(path, buf[:MaxSmall+1])
	return n, tooLong(n, err)
}

func tooLong(n int, err error) error {
	if err == nil && n > MaxSmall {
		return ErrTooLong
	}
	return err
}

// ErrTooLong is the error of a file that is longer than it can be.
var ErrTooLong = errors.New("procfile: file too long")

// Close closes the file.
func (s *Small) Close() {
	if s.h != nil {
		s.h.close()
		s.h = nil
	}
}
