package sockdiag

import (
	"os"
	"runtime"
	"syscall"
)

// A conn is a netlink socket that is connected to the kernel, so that no other process can send to
// it. It is closed when it is garbage-collected.
type conn struct {
	fd      int
	cleanup runtime.Cleanup
}

const netlinkSockDiag = 4 // NETLINK_SOCK_DIAG

func openConn() (*conn, error) {
	// No call waits: the kernel has written a part of the reply before the one before it
	// has been read.
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, netlinkSockDiag)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		closeDescriptor(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	c := &conn{fd: fd}
	c.cleanup = runtime.AddCleanup(c, closeDescriptor, fd)
	return c, nil
}

// write sends a request. The kernel sends the first part of the reply meanwhile.
func (c *conn) write(b []byte) error {
	_, err := syscall.Write(c.fd, b)
	runtime.KeepAlive(c)
	return os.NewSyscallError("write", err)
}

// read receives one part of the reply.
func (c *conn) read(b []byte) (int, error) {
	n, err := syscall.Read(c.fd, b)
	runtime.KeepAlive(c)
	return max(n, 0), os.NewSyscallError("read", err)
}

func (c *conn) close() {
	c.cleanup.Stop()
	closeDescriptor(c.fd)
	c.fd = -1
}

func closeDescriptor(fd int) { syscall.Close(fd) }
