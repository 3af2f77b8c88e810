package rawconn

import "syscall"

// Descriptor is the file descriptor of a connection, listener or file, -1 if it has none or is
// closed. It is a number to show: nothing keeps it from being another file's soon.
func Descriptor(stream any) int {
	fd := -1
	control(stream, func(n uintptr) { fd = int(n) })
	return fd
}

// control calls f with the descriptor of a stream, if it has one.
func control(stream any, f func(fd uintptr)) {
	c, ok := stream.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(f) // its error means that f was not called
	}
}
