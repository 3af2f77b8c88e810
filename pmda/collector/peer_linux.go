package collector

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end of a unix socket. It returns -1 for each value that
// the kernel does not know, and for other connections.
func peerOf(c net.Conn) (pid, uid, gid int) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return -1, -1, -1
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return -1, -1, -1
	}
	pid, uid, gid = -1, -1, -1
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid, uid, gid = int(cred.Pid), int(cred.Uid), int(cred.Gid)
		}
	})
	return pid, uid, gid
}
