//go:build unix

package daemonfile

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// probe returns nil if no process has a socket, or else ErrInUse or why it cannot tell. To connect
// is no way to find out: some processes serve one connection and end with it. All refuse datagrams:
// with EPROTOTYPE where there is a process, with ECONNREFUSED where there is none.
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

// bind makes the socket, with its mode: to set that afterwards could meet another file. For the
// same reason it gives a user the socket only in a directory in which nobody else can exchange it.
// Elsewhere the socket is made with the user's own rights, if the system can do so.
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
