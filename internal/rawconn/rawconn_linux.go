package rawconn

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

type stream struct {
	rw  io.ReadWriter
	raw syscall.RawConn
	in  half
	out half

	waited func(time.Duration) // nil, or what is told of writes that had to wait
	began  time.Time           // when the write in progress had to; else zero
}

// A half is one direction of a stream. The function that RawConn calls is made
// once and has its arguments in fields, so that a read or write allocates nothing.
type half struct {
	try  func(fd uintptr) bool
	trap uintptr // the number of the system call for a file
	sock uintptr // that for a socket, which is faster; 0 if it is none
	b    []byte
	n    int // the number of bytes of b that are read or written
	fail syscall.Errno
}

// newStream returns nil for unknown types.
func newStream(rw io.ReadWriter, waited func(time.Duration)) io.ReadWriter {
	// Other types may define Read and Write differently, even if they contain a socket.
	switch rw.(type) {
	case *net.TCPConn, *net.UnixConn, *os.File:
	default:
		return nil
	}
	raw, err := rw.(syscall.Conn).SyscallConn()
	if err != nil || blocks(raw) {
		return nil
	}
	s := &stream{rw: rw, raw: raw, waited: waited, in: half{trap: unix.SYS_READ}, out: half{trap: unix.SYS_WRITE}}
	if _, file := rw.(*os.File); !file {
		s.in.sock, s.out.sock = unix.SYS_RECVFROM, unix.SYS_SENDTO
	}
	s.in.try, s.out.try = s.tryRead, s.tryWrite
	return s
}

// blocks reports whether calls may block. It is true if that cannot be found out.
func blocks(raw syscall.RawConn) bool {
	flags := 0
	var failed error
	err := raw.Control(func(fd uintptr) { flags, failed = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	return errors.Join(err, failed) != nil || flags&unix.O_NONBLOCK == 0
}

// Read reads the available bytes, and waits for at least one.
func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.in.run(p, s.raw.Read)
	switch {
	case err != nil:
		return n, wrap(s.rw, "read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write writes all of p.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.out.run(p, s.raw.Write)
	if !s.began.IsZero() {
		s.waited(time.Since(s.began))
		s.began = time.Time{}
	}
	return n, wrap(s.rw, "write", err)
}

// Close closes the stream that New was given.
func (s *stream) Close() error { return s.rw.(io.Closer).Close() }

// run reads into p, or writes it. wait is RawConn's Read or Write: it calls try
// until that is true, and waits in between until the file is ready.
func (h *half) run(p []byte, wait func(try func(uintptr) bool) error) (int, error) {
	h.b, h.n, h.fail = p, 0, 0
	err := wait(h.try)
	h.b = nil
	if err == nil && h.fail != 0 {
		err = h.fail
	}
	return h.n, err
}

// tryRead reads once. It returns false if no data is available yet.
func (s *stream) tryRead(fd uintptr) bool {
	return !s.in.call(fd)
}

// tryWrite writes as much as it can. It is false if not all could be written.
func (s *stream) tryWrite(fd uintptr) bool {
	for s.out.n < len(s.out.b) && s.out.fail == 0 {
		if s.out.call(fd) {
			if s.waited != nil && s.began.IsZero() {
				s.began = time.Now()
			}
			return false
		}
	}
	return true
}

// call makes a system call on the rest of the bytes. It returns true if the call
// would block.
func (h *half) call(fd uintptr) (again bool) {
	rest := h.b[h.n:]
	for {
		var n uintptr
		var e syscall.Errno
		if h.sock != 0 {
			n, _, e = syscall.RawSyscall6(h.sock, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)), 0, 0, 0)
		} else {
			n, _, e = syscall.RawSyscall(h.trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)))
		}
		switch {
		case e == 0:
			h.n += int(n)
			return false
		case e == syscall.EINTR:
		case e == syscall.EAGAIN:
			return true
		case e == syscall.ENOSYS && h.sock != 0:
			h.sock = 0 // an old kernel, for a processor on which socketcall(2) did all that sockets do
		default:
			h.fail = e
			return false
		}
	}
}

// wrap returns err as the argument of New would have returned it.
func wrap(of io.ReadWriter, op string, err error) error {
	if err == nil {
		return nil
	}
	e, failed := err.(syscall.Errno)
	switch rw := of.(type) {
	case *os.File:
		switch {
		case failed:
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = os.ErrDeadlineExceeded
		case err.Error() == "use of closed file": // the run time's own
			err = os.ErrClosed
		}
		return &fs.PathError{Op: op, Path: rw.Name(), Err: err}
	case net.Conn:
		if failed {
			err = os.NewSyscallError(op, e)
		} else if o, ok := errors.AsType[*net.OpError](err); ok { // the Op is raw-read
			err = o.Err
		}
		return &net.OpError{Op: op, Net: rw.LocalAddr().Network(), Source: rw.LocalAddr(), Addr: rw.RemoteAddr(), Err: err}
	}
	return nil
}
