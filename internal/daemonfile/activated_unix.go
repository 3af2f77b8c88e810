//go:build unix

package daemonfile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// firstActivated is the descriptor of the first socket of a service manager.
const firstActivated = 3

// maxActivated is how many sockets a service manager may pass.
const maxActivated = 1024

// Activated returns the stream sockets that the service manager opened for this process, in their
// order, as sd_listen_fds(3) finds them. It returns no sockets without a service manager, and on a
// second call. Processes that this one starts do not get the sockets. Close of a unix socket leaves
// its file, which belongs to the service manager.
func Activated() ([]net.Listener, error) {
	pid, n := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil // they are for another process, or there are none
	}
	count, err := strconv.Atoi(n)
	if err != nil || count < 0 || count > maxActivated {
		return nil, fmt.Errorf("LISTEN_FDS is %q", n)
	}
	var all []net.Listener
	var errs []error
	for fd := firstActivated; fd < firstActivated+count; fd++ {
		syscall.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "socket "+strconv.Itoa(fd))
		l, err := net.FileListener(f) // a copy of the descriptor
		f.Close()
		if err != nil {
			errs = append(errs, fmt.Errorf("descriptor %d of the service manager is no stream socket that listens: %w", fd, err))
			continue
		}
		all = append(all, l)
	}
	if errs == nil {
		return all, nil
	}
	for _, l := range all {
		l.Close()
	}
	return nil, errors.Join(errs...)
}
