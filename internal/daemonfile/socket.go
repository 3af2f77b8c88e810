package daemonfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Socket says how to listen on a unix socket.
type Socket struct {
	Path string
	Mode fs.FileMode // of the socket, whatever the umask

	// User, if not nil, has the socket if root makes it.
	User *User

	// Keep leaves the socket in its directory when the listener is closed.
	Keep bool
}

// A User is the number of an account and of its group.
type User struct{ UID, GID int }

var (
	// ErrInUse is the error of a socket that another process has.
	ErrInUse = errors.New("another program listens on the socket")
	// ErrNotSocket is the error of a path that is something else.
	ErrNotSocket = errors.New("the file exists and is not a socket")
)

// Listen listens on the socket. It replaces a socket that a process has left behind, and then
// reports replaced. It replaces nothing else: errors are ErrInUse and ErrNotSocket, and those of
// the system. When the listener is closed, it removes its socket, but not a socket that another
// process has put in its place.
func (s Socket) Listen() (l net.Listener, replaced bool, err error) {
	e, err := openEntry(s.Path)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if replaced, err = e.removeDeadSocket(s.Path); err != nil {
		return nil, false, err
	}
	u, err := s.bind(e)
	if err != nil {
		return nil, false, err
	}
	if ul, ok := u.(*net.UnixListener); ok {
		ul.SetUnlinkOnClose(false)
	}
	if e.own, err = e.dir.Lstat(e.name); err != nil {
		u.Close()
		return nil, false, fmt.Errorf("the socket was removed at once: %w", err)
	}
	return &listener{Listener: u, entry: e, keep: s.Keep}, replaced, nil
}

// removeDeadSocket makes room for a socket.
func (e entry) removeDeadSocket(path string) (removed bool, err error) {
	info, err := e.dir.Lstat(e.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, withPath(err, path)
	case info.Mode()&fs.ModeSocket == 0:
		return false, ErrNotSocket
	}
	if err := probe(path); err != nil {
		return false, err
	}
	e.own = info
	if err := e.removeOwn(); err != nil {
		return false, withPath(err, path)
	}
	return true, nil
}

// A listener removes its socket.
type listener struct {
	net.Listener
	once  sync.Once
	entry entry
	keep  bool
	left  atomic.Bool
}

// SyscallConn is that of the listener that it wraps.
func (l *listener) SyscallConn() (syscall.RawConn, error) {
	if c, ok := l.Listener.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Close removes the socket before it is dead and another process may replace it.
func (l *listener) Close() error {
	l.once.Do(func() {
		if !l.keep && !l.left.Load() {
			l.entry.removeOwn() // if it cannot, the next process to listen here does it
		}
		l.entry.close()
	})
	return l.Listener.Close()
}
