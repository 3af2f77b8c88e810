//go:build unix

package requestport

import (
	"net"
	"syscall"
)

// setBacklog sets how many connections wait to be accepted. If the system refuses, the backlog
// stays as it was.
func setBacklog(l net.Listener, n int) {
	if c, ok := l.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), n) })
		}
	}
}
