package pmdatrace

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// Serve accepts connections of applications on a listener until ctx ends, and closes the listener.
// It returns nil when ctx has ended and all connections are closed. It returns an error if the
// listener fails or PMDA has an Err. An agent can serve several listeners; trace.control.port
// is the port of the last TCP listener.
//
// An application that Options.Access forbids is refused and disconnected. If there are MaxClients,
// a new one takes the place of an idle one. It is refused if all have sent something of late.
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
		conn, err := a.accept(ctx, ln)
		if err != nil || conn == nil {
			return err
		}
		if c := a.admit(conn); c != nil {
			clients.Go(func() { c.serve(ofClients) })
		}
	}
}

// accept waits for a connection. It returns nil if ctx has ended.
func (a *Agent) accept(ctx context.Context, ln net.Listener) (net.Conn, error) {
	var delay time.Duration
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, nil
		case errors.Is(err, net.ErrClosed):
			return nil, err
		}
		a.limitedLog().Warn("cannot accept applications", slog.Any("addr", ln.Addr()), slog.Any("err", err))
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, nil
		}
	}
}
