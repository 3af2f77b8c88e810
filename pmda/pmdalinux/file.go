package pmdalinux

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// maxFile is how long a file may be. The longest known is /proc/interrupts on
// more than a thousand processors, with some megabytes.
const maxFile = 64 << 20

// A file is read whole, again and again, into the same memory. It stays open:
// reading from its begin makes the kernel write it anew.
type file struct {
	path   string
	brief  bool // it does not stay open
	f      *os.File
	quick  quick
	buf    []byte
	absent error     // that there is no such file
	next   time.Time // when to look for it again
}

// brief are what is not to stay open. There may be another file in the place of the
// first. A file system cannot be unmounted while a file of it is open, and the NFS
// server does not end while pool_stats is.
var brief = []string{"var/run/", "proc/fs/nfsd/", "sys/kernel/debug/"}

// file is one below the root directory.
func (l *linux) file(name string) file {
	return file{path: l.path(name), brief: slices.ContainsFunc(brief, func(dir string) bool { return strings.HasPrefix(name, dir) })}
}

// read returns what the file has now, valid until the next read.
func (f *file) read() ([]byte, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	if f.brief {
		defer func() {
			if f.f != nil {
				f.f.Close()
				f.f = nil
			}
		}()
	}
	if f.buf == nil {
		f.buf = make([]byte, 4<<10)
	}
	for n := 0; ; {
		m, err := f.quick.readAt(f.f, f.buf[n:], int64(n))
		n += m
		switch {
		case err == io.EOF:
			return f.buf[:n], nil
		case err != nil:
			f.f.Close()
			f.f = nil
			return nil, err
		case n >= maxFile:
			return nil, fmt.Errorf("%s has more than %d bytes", f.path, maxFile)
		}
		f.buf = append(f.buf, make([]byte, len(f.buf))...)
	}
}

// open opens the file if it is not.
func (f *file) open() (err error) {
	if f.f != nil {
		return nil
	}
	now := time.Now()
	if f.absent != nil && now.Before(f.next) {
		return f.absent
	}
	f.f, err = os.Open(f.path)
	f.absent = nil
	if errors.Is(err, fs.ErrNotExist) {
		f.absent, f.next = err, now.Add(lookAgain)
	}
	return err
}

// absent makes of the absence of a file that of the metrics in it.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return pdu.ErrAppVersion
	}
	return err
}
