package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/pcp-go/pcp/pdu"
)

// Error codes that are Linux's error numbers.
const (
	errNoHost pdu.Error = -113 // EHOSTUNREACH
	errReset  pdu.Error = -104 // ECONNRESET
)

// dialError returns the error of a step of a connection to an address, with the address and the
// code that the C library gives this error. dialing is the context of the step, a child of ctx.
// late describes a step that has timed out.
func dialError(ctx, dialing context.Context, addr, late string, err error) error {
	switch {
	case hasEnded(ctx):
		return context.Cause(ctx)
	case hasEnded(dialing):
		return fmt.Errorf("%s: %s: %w", addr, late, pdu.ErrTimeout)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		return fmt.Errorf("%s: %w: %w", addr, errNoHost, err)
	}
	if pdu.FromError(err) == errReset { // it was accepted, and closed before we saw that
		return fmt.Errorf("%w: %w", pdu.ErrIPC, err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && op.Addr != nil {
		return err // it names the address
	}
	return fmt.Errorf("%s: %w", addr, err)
}

// greetingError returns the error of a handshake: the code of a collector that refuses the client,
// the error of a deadline, or else pdu.ErrIPC, as when the peer closes the connection.
func greetingError(err error) error {
	if code, ok := errors.AsType[pdu.Error](err); ok && code != pdu.ErrTooBig || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w in the handshake: %w", pdu.ErrIPC, err)
}

// A localError is the error of "local:", which tries the socket and then TCP. Its code is that of
// TCP, as in the C library.
type localError struct{ tcp, socket error }

func (e localError) Error() string { return e.socket.Error() + "; " + e.tcp.Error() }

func (e localError) Unwrap() []error { return []error{e.tcp, e.socket} }
