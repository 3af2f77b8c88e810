//go:build linux && (amd64 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package pmdalinux

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shortRead is what a read of a file may take for the next not to be announced to
// Go's scheduler. Where the program was idle that wakes a thread, for about the
// price of such a read; a longer one would hold up others.
const shortRead = 50 * time.Microsecond

// quick reads a file that can be read in a short time. It has to be one that the
// kernel itself answers: while such a read waits, the whole program does. Programs
// answer for files of FUSE, which lxcfs puts over some below /proc, and for those on
// other machines; both were quick the last time, and may be gone now.
type quick struct {
	took time.Duration // by the latest read, 0 if there was none
	self *quick        // whose try is
	of   *os.File      // of which raw is
	raw  syscall.RawConn

	// try does what these say, and is made once, so that a read allocates nothing.
	try func(fd uintptr)
	b   []byte
	off int64
	n   int
	err error
}

// readAt is f.ReadAt.
func (q *quick) readAt(f *os.File, b []byte, off int64) (n int, err error) {
	begin := time.Now()
	if q.took > 0 && q.took < shortRead && q.bind(f) {
		n, err = q.read(b, off)
	} else {
		n, err = f.ReadAt(b, off)
	}
	q.took = max(1, time.Since(begin))
	return n, err
}

// bind makes ready for a file.
func (q *quick) bind(f *os.File) bool {
	if q.of == f && q.self == q {
		return q.raw != nil
	}
	q.self, q.of, q.raw, q.try = q, f, nil, q.pread
	if raw, err := f.SyscallConn(); err == nil && ofKernel(raw) {
		q.raw = raw
	}
	return q.raw != nil
}

// ofKernel is whether a file is of a file system that the kernel answers for.
func ofKernel(raw syscall.RawConn) bool {
	var s syscall.Statfs_t
	var err error
	if e := raw.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &s) }); e != nil || err != nil {
		return false
	}
	return s.Type == unix.PROC_SUPER_MAGIC || s.Type == unix.SYSFS_MAGIC
}

// read reads until b is full or the file ends.
func (q *quick) read(b []byte, off int64) (int, error) {
	q.b, q.off, q.n, q.err = b, off, 0, nil
	err := q.raw.Control(q.try)
	q.b = nil
	if err == nil {
		err = q.err
	}
	if e, ok := err.(syscall.Errno); ok {
		err = &fs.PathError{Op: "read", Path: q.of.Name(), Err: e}
	}
	return q.n, err
}

func (q *quick) pread(fd uintptr) {
	for q.n < len(q.b) {
		rest := q.b[q.n:]
		m, _, e := syscall.RawSyscall6(syscall.SYS_PREAD64, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)),
			uintptr(q.off)+uintptr(q.n), 0, 0)
		switch {
		case e == syscall.EINTR:
		case e != 0:
			q.err = e
			return
		case m == 0:
			q.err = io.EOF
			return
		default:
			q.n += int(m)
		}
	}
}
