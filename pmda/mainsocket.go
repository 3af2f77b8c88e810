package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/daemonfile"
)

// listen opens the socket for the collector, or returns nil if the agent uses pipes. Only programs
// on this machine can reach the socket.
func (c *command) listen(ctx context.Context, log *slog.Logger) (net.Listener, error) {
	var network, address string
	switch c.transport {
	case 'u':
		return listenUnix(c.address, log)
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

// lookupPort returns the port of a number, or of a name in the system's list of services.
func lookupPort(ctx context.Context, s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 0 || n > 65535 {
			return 0, fmt.Errorf("port %d out of range (0..65535)", n)
		}
		return n, nil
	}
	return net.DefaultResolver.LookupPort(ctx, "tcp", s)
}

// listenUnix listens on a unix socket, and replaces an abandoned one. Only the collector's account
// may use the socket. The socket stays when the agent has ended, as with C agents, because a
// collector that starts the agent again may connect before the agent listens.
func listenUnix(path string, log *slog.Logger) (net.Listener, error) {
	s := daemonfile.Socket{Path: path, Mode: 0o660, Keep: true}
	if account.Exists(defaultUser) {
		uid, gid, err := account.IDs(defaultUser)
		if err != nil {
			return nil, fmt.Errorf("-u: %w", err)
		}
		s.User = &daemonfile.User{UID: uid, GID: gid}
	}
	ln, replaced, err := s.Listen()
	switch {
	case errors.Is(err, daemonfile.ErrInUse):
		return nil, fmt.Errorf("-u %s: %w: end it, or give this one another name", path, err)
	case errors.Is(err, daemonfile.ErrNotSocket):
		return nil, fmt.Errorf("-u %s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("-u: %w", err)
	}
	if replaced {
		log.Warn("replaces the socket " + path)
	}
	return ln, nil
}

// accept waits for the collector, and refuses all later connections.
func accept(ctx context.Context, ln net.Listener) (net.Conn, error) {
	defer ctxwait.CloseAfter(ctx, ln)()
	return ln.Accept()
}
