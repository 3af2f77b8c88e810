package rawconn

import "syscall"

// Descriptor is the file descriptor of a connection, listener or file, -1 if it has none or is
// closed. It is a number to show: nothing keeps it from being another file's soon.
func Descriptor(stream any) int {
	c, ok := stream.(syscall.Conn)
	if !ok {
		return -1
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return -1
	}
	fd := -1
	raw.Control(func(n uintptr) { fd = int(n) }) // an error leaves it
	return fd
}
