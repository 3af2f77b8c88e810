package pmlc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// DefaultPort is the first port that a logger tries.
const DefaultPort = 4330

// maxPorts is the number of ports that are tried.
const maxPorts = 1000

// ListenOptions say where a logger listens.
type ListenOptions struct {
	Port  int  // the first that is tried, and the ones above it; 0 means DefaultPort
	Local bool // on the loopback interface alone
	// Dir is the directory of the unix socket, such as PCP_RUN_DIR. If it is empty, Listen makes no
	// unix socket.
	Dir string
	// Primary also makes the symbolic link to the socket that leads clients to the primary logger.
	Primary bool
	// PID is in the name of the socket; 0 means the process id.
	PID int
}

// A socketListener is that of a unix socket.
type socketListener struct {
	net.Listener
	link string // of the primary logger; "" if there is none
}

// Listen listens on the first free port, and on a unix socket, and returns the listeners and the
// port. Closing the listener of the socket removes it. If the port works and the socket does not,
// Listen returns the listener of the port together with the error of the socket.
func Listen(ctx context.Context, o ListenOptions) (listeners []net.Listener, port int, err error) {
	tcp, port, err := listenTCP(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	listeners = append(listeners, tcp...)
	if o.Dir == "" {
		return listeners, port, nil
	}
	ln, err := listenSocket(ctx, o)
	if err != nil {
		return listeners, port, fmt.Errorf("pmlc: listen: %w", err)
	}
	return append(listeners, ln), port, nil
}

// listenTCP listens on the first free port.
func listenTCP(ctx context.Context, o ListenOptions) ([]net.Listener, int, error) {
	first := cmp.Or(o.Port, DefaultPort)
	hosts := [...]struct{ network, host string }{{"tcp4", "0.0.0.0"}, {"tcp6", "::"}}
	if o.Local {
		hosts[0].host, hosts[1].host = "127.0.0.1", "::1"
	}
	for port := first; port < first+maxPorts && port <= 65535; port++ {
		var listeners []net.Listener
		var err error
		for _, h := range hosts {
			var ln net.Listener
			ln, err = new(net.ListenConfig).Listen(ctx, h.network, net.JoinHostPort(h.host, strconv.Itoa(port)))
			if err == nil {
				listeners = append(listeners, ln)
			} else if errors.Is(err, syscall.EADDRINUSE) {
				break
			} // a host without one of the two has one listener
		}
		if err == nil || len(listeners) > 0 && !errors.Is(err, syscall.EADDRINUSE) {
			return listeners, port, nil
		}
		for _, ln := range listeners {
			ln.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, 0, fmt.Errorf("pmlc: listen: %w", err)
		}
	}
	return nil, 0, fmt.Errorf("pmlc: listen: no free port from %d: %w", first, syscall.EADDRINUSE)
}

// SocketPath is the unix socket of a logger in a directory.
func SocketPath(dir string, pid int) string {
	return filepath.Join(dir, fmt.Sprintf("pmlogger.%d.socket", pid))
}

// PrimarySocketPath is the unix socket of the primary logger in a directory.
func PrimarySocketPath(dir string) string { return filepath.Join(dir, "pmlogger.primary.socket") }

// listenSocket listens on the unix socket. One that is left of an earlier process with the same id
// is replaced.
func listenSocket(ctx context.Context, o ListenOptions) (net.Listener, error) {
	path := SocketPath(o.Dir, cmp.Or(o.PID, os.Getpid()))
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil { // who may do what is not the file's business
		ln.Close()
		return nil, err
	}
	s := &socketListener{Listener: ln}
	if o.Primary {
		s.link = PrimarySocketPath(o.Dir)
		err := os.Remove(s.link)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			err = os.Symlink(path, s.link)
		}
		if err != nil {
			s.link = ""
			ln.Close()
			return nil, err
		}
	}
	return s, nil
}

// removeSocket removes a socket that there may be.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode()&os.ModeSocket == 0 {
		return &os.PathError{Op: "listen", Path: path, Err: os.ErrExist}
	}
	return cmp.Or(err, os.Remove(path))
}

// Close removes the socket, too.
func (s *socketListener) Close() error {
	if s.link != "" {
		if path, err := os.Readlink(s.link); err == nil && path == s.Addr().String() {
			os.Remove(s.link)
		}
	}
	return s.Listener.Close()
}
