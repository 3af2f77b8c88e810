package rawconn

import "golang.org/x/sys/unix"

// Ended reports whether the other end of a socket has closed it or has gone. It neither waits nor
// reads. It is false if that is not known: for streams in memory, and on systems other than
// Linux.
func Ended(stream any) bool {
	ended := false
	control(stream, func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		ended = err == nil && n > 0 && fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return ended
}
