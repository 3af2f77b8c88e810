package pmda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
)

// listen opens the socket that the collector will connect to; there is none if
// it uses pipes. Only programs on this machine reach it.
func (c *command) listen(ctx context.Context, log *slog.Logger) (net.Listener, error) {
	var network, address string
	switch c.transport {
	case 'u':
		return listenUnix(ctx, c.address, log)
	case 'i':
		network, address = "tcp4", "127.0.0.1"
	case '6':
		network, address = "tcp6", "::1"
	default:
		return nil, nil
	}
	port, err := lookupPort(ctx, c.address)
	if err != nil {
		return nil, fmt.Errorf("-%c %s: %w", c.transport, c.address, err)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, network, net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("-%c %s: %w", c.transport, c.address, err)
	}
	if port == 0 {
		log.Info("listens on " + ln.Addr().String())
	}
	return ln, nil
}

// lookupPort finds the port of a number, or of a name in the system's list of
// services.
func lookupPort(ctx context.Context, s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 0 || n > 65535 {
			return 0, fmt.Errorf("port %d out of range (0..65535)", n)
		}
		return n, nil
	}
	return net.DefaultResolver.LookupPort(ctx, "tcp", s)
}

// listenUnix replaces a socket that nobody listens on. The socket stays when the
// agent has ended, as with C agents: a collector that starts the agent again may
// connect before the agent listens.
func listenUnix(ctx context.Context, path string, log *slog.Logger) (net.Listener, error) {
	if st, err := os.Lstat(path); err == nil {
		if st.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("-u %s: the file exists and is not a socket", path)
		}
		if inUse(path) {
			return nil, fmt.Errorf("-u %s: another program listens on the socket: end it, or give this one another name", path)
		}
		log.Warn("replaces the socket " + path)
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("-u: %w", err)
		}
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("-u: %w", err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := restrictSocket(path); err != nil {
		ln.Close()
		return nil, fmt.Errorf("-u: %w", err)
	}
	return ln, nil
}

// inUse reports whether a program listens on a socket. To connect is no way to find
// out: an agent serves one connection and ends with it. Datagrams are refused by all: with
// EPROTOTYPE where there is a listener, with ECONNREFUSED where there is none.
func inUse(path string) bool {
	c, err := net.Dial("unixgram", path)
	if err == nil {
		c.Close()
		return true
	}
	return errors.Is(err, syscall.EPROTOTYPE)
}

// accept waits for the collector, and refuses all later connections.
func accept(ctx context.Context, ln net.Listener) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	defer ln.Close()
	return ln.Accept()
}

// isTerminal reports whether f is a device that is not the empty one.
func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(st, null)
}
