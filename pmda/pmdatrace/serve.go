package pmdatrace

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Serve takes the values that applications send over the connections of a listener, until ctx ends. It
// returns nil then, when all connections are closed, and an error if the listener fails or the agent
// has an Err. It closes the listener. There may be several at a time; trace.control.port is that
// of the last TCP listener.
//
// Applications that Options.Access forbids, and those above MaxClients, are told so and disconnected; one
// that breaks the rules of the protocol, or does not read the answers that it has asked for, is
// disconnected.
func (a *Agent) Serve(ctx context.Context, ln net.Listener) error {
	defer ln.Close()
	if err := a.Err(); err != nil {
		return err
	}
	if addr, ok := ln.Addr().(*net.TCPAddr); ok {
		a.port.Store(uint32(addr.Port))
	}
	defer context.AfterFunc(ctx, func() { ln.Close() })()
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

// accept waits for a connection, nil if ctx has ended.
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
