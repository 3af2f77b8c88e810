//go:build unix

package daemonfile

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// probe returns nil if no process has a socket, and otherwise ErrInUse or why it cannot tell. It
// must not connect a stream, because some processes serve one connection and end with it. All
// refuse datagrams: the error is EPROTOTYPE if a process has the socket, and ECONNREFUSED
// otherwise.
func probe(path string) error {
	c, err := net.Dial("unixgram", path)
	switch {
	case err == nil:
		c.Close()
		return ErrInUse
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	case errors.Is(err, syscall.EPROTOTYPE):
		return ErrInUse
	}
	return err
}

// bind makes the socket with its mode, because setting the mode afterwards could affect another
// file. For the same reason it gives a user the socket only in a directory where no other user can
// exchange it. Elsewhere it makes the socket with the user's rights, if the system supports that.
func (s Socket) bind(e entry) (net.Listener, error) {
	if s.User == nil || os.Geteuid() != 0 {
		return s.listenAs(nil)
	}
	if e.shared() {
		return s.listenAs(s.User)
	}
	l, err := s.listenAs(nil)
	if err != nil {
		return nil, err
	}
	if err := e.dir.Lchown(e.name, s.User.UID, s.User.GID); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// umask is the file mode creation mask that gives the socket its mode.
func (s Socket) umask() int { return int(^s.Mode.Perm() & 0o777) }
