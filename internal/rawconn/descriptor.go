package rawconn

import "syscall"

// Descriptor returns the file descriptor of a connection, listener or file, or -1 if it is closed
// or lacks one. Only display the number: it may soon be the descriptor of another file.
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
