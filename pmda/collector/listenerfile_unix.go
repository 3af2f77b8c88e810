//go:build unix

package collector

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenerFile returns a copy of the descriptor of a listener. With it in ExtraFiles of an
// exec.Cmd, another process listens at the same address; see Shutdown. The caller closes the file.
// The listener's own method File is not suitable: exec.Cmd would put the listener into blocking
// mode, and Close of the listener would wait for a client.
func ListenerFile(l net.Listener) (*os.File, error) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return nil, opError("copy listener", "", fmt.Errorf("a %T has no descriptor", l))
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, opError("copy listener", "", err)
	}
	var fd int
	var failed error
	if err = raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); err == nil {
		err = failed
	}
	if err != nil {
		return nil, opError("copy listener", "", err)
	}
	return os.NewFile(uintptr(fd), l.Addr().String()), nil
}
