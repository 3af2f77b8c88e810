//go:build linux || darwin || freebsd

package trace

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxSegment returns how many bytes a TCP segment of a connection holds, or 0 if that is unknown.
func maxSegment(conn net.Conn) int {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	size := 0
	err = raw.Control(func(fd uintptr) {
		if n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG); err == nil {
			size = n
		}
	})
	if err != nil {
		return 0
	}
	return size
}
