// Package rawconn reads and writes sockets and pipes without telling the
// scheduler.
//
// Go announces every system call to its scheduler, in case it takes long. Where
// the program was idle, that wakes a thread of the run time, which costs about as
// much as a short exchange of messages. A call that does not block takes no time
// worth the notice.
package rawconn

import "io"

// New returns a stream that does what rw does, and faster, if that is a
// *net.TCPConn, a *net.UnixConn or an *os.File of which reads and writes do not
// block, on Linux; else rw itself. Deadlines and closing are those of rw, and so
// are its errors. One goroutine at a time may read, and one may write. If rw is an
// io.Closer, so is what New returns.
func New(rw io.ReadWriter) io.ReadWriter { return newStream(rw) }
