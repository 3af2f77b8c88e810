// Package rawconn reads and writes sockets and pipes with system calls that the
// scheduler of the Go run time does not see.
//
// Go reports every system call to its scheduler, in case the call blocks. If the
// program was idle, that wakes a thread of the run time, which costs about as
// much as a short exchange of messages. Calls on a non-blocking file return at
// once, so that the scheduler need not know of them.
package rawconn

import (
	"io"
	"net"
	"os"
	"time"
)

// New returns a faster stream over the same file if rw is, on Linux, a
// *net.TCPConn, a *net.UnixConn or a non-blocking *os.File; else it returns rw.
// Deadlines are set on rw, and errors are those that rw would return. One
// goroutine at a time may read, and one at the same time may write. If rw is an
// io.Closer, so is the result.
func New(rw io.ReadWriter) io.ReadWriter {
	if s := newStream(rw, nil); s != nil {
		return s
	}
	return rw
}

// NewWatched is New of a connection, with calls of waited. It calls waited after each write that
// had to wait because the other end had not read earlier data. The argument is the time until all
// was written, or the write failed. Writes without a wait cost no more than with New. Where New
// returns its argument, a write that takes a millisecond counts as one that has waited.
func NewWatched(conn net.Conn, waited func(time.Duration)) io.ReadWriter {
	if s := newStream(conn, waited); s != nil {
		return s
	}
	return timed{conn, waited}
}

// timed is a connection whose writes are timed.
type timed struct {
	net.Conn
	waited func(time.Duration)
}

func (t timed) Write(p []byte) (int, error) {
	began := time.Now()
	n, err := t.Conn.Write(p)
	if d := time.Since(began); d >= time.Millisecond {
		t.waited(d)
	}
	return n, err
}

// NewWriterAt returns a faster writer of f on Linux with 64-bit addresses; elsewhere it returns f.
// Unlike the calls that New makes, its writes may block the thread while the disk is slow, and all
// goroutines on that thread wait. So it is for programs without other work. Errors are those of f.
// One goroutine at a time may use it.
func NewWriterAt(f *os.File) io.WriterAt { return newWriterAt(f) }
