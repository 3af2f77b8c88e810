package pmdatrace

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"

	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/ctxwait"
)

// Serve accepts connections of applications on a listener until ctx ends, and closes the listener.
// It returns nil when ctx has ended and all connections are closed. It returns an error if the
// listener fails or PMDA has an Err. An agent can serve several listeners; trace.control.port
// is the port of the last TCP listener.
//
// An application that Options.Access forbids is refused and disconnected. If there are MaxClients,
// a new one replaces an idle one. It is refused if all have sent something in the last ten seconds.
//
// An application that breaks the protocol, or does not read the replies that it requested, is
// disconnected.
func (a *Agent) Serve(ctx context.Context, ln net.Listener) error {
	defer ctxwait.CloseAfter(ctx, ln)()
	if err := a.PMDA.Err(); err != nil {
		return err
	}
	if addr, ok := ln.Addr().(*net.TCPAddr); ok {
		a.port.Store(uint32(addr.Port))
	}
	ofClients, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for {
		conn, err := connlimit.Accept(ctx, ln, func(err error) bool {
			closed := errors.Is(err, net.ErrClosed)
			if !closed {
				a.limitedLog().Warn("cannot accept applications", slog.Any("addr", ln.Addr()), slog.Any("err", err))
			}
			return !closed
		})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		default:
			return err
		}
		if c := a.admit(conn); c != nil {
			clients.Go(func() { c.serve(ofClients) })
		}
	}
}
