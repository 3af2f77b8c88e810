//go:build unix && !linux

package daemonfile

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

var processUmask sync.Mutex

// listenAs listens with the umask of the socket, which is that of the whole process for a moment.
// The system knows no rights of a thread: the socket stays this process' own.
func (s Socket) listenAs(*User) (net.Listener, error) {
	processUmask.Lock()
	defer processUmask.Unlock()
	defer unix.Umask(unix.Umask(s.umask()))
	return net.Listen("unix", s.Path)
}
