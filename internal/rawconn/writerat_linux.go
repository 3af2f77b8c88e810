package rawconn

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A writerAt writes a file. As in a half, the function is made once.
type writerAt struct {
	f    *os.File
	raw  syscall.RawConn
	put  func(fd uintptr)
	b    []byte
	off  int64
	n    int
	fail error
}

func newWriterAt(f *os.File) io.WriterAt {
	raw, err := f.SyscallConn()
	if err != nil || unsafe.Sizeof(uintptr(0)) < 8 { // where registers are short an offset has two, each processor in its way
		return f
	}
	w := &writerAt{f: f, raw: raw}
	w.put = w.write
	return w
}

// WriteAt writes all of p.
func (w *writerAt) WriteAt(p []byte, off int64) (int, error) {
	w.b, w.off, w.n, w.fail = p, off, 0, nil
	err := w.raw.Control(w.put)
	w.b = nil
	if err == nil {
		err = w.fail
	}
	return w.n, wrap(w.f, "write", err)
}

func (w *writerAt) write(fd uintptr) {
	for w.n < len(w.b) {
		rest := w.b[w.n:]
		n, _, e := syscall.RawSyscall6(unix.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)), uintptr(w.off+int64(w.n)), 0, 0)
		switch {
		case e == syscall.EINTR:
		case e != 0:
			w.fail = e
			return
		case n == 0:
			w.fail = io.ErrUnexpectedEOF
			return
		default:
			w.n += int(n)
		}
	}
}
