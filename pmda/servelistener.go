package pmda

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/loglimit"
)

// ServeListener serves the collectors that connect to a listener, as Serve does, one
// after the other: when a collector has gone, or its connection has failed, which is
// logged, the next is served. One that connects meanwhile waits, since an agent knows
// clients by numbers that are a collector's own; a peer that has not sent its version
// within 10 seconds is no collector. It returns the cause of ctx when that ends,
// or why no more collectors can be accepted, and closes the listener. A Handler whose Err
// is not nil is not served.
//
//	ln, err := net.Listen("unix", "/run/pcp/pmda.cache")
//	if err != nil {
//		return err
//	}
//	return pmda.ServeListener(ctx, a, ln)
//
// Such a socket is for a line of pmcd.conf without a command, like
// "cache 400 socket unix /run/pcp/pmda.cache".
func ServeListener(ctx context.Context, h Handler, ln net.Listener) error {
	if ln == nil {
		return &OpError{Op: "serve", Err: errors.New("the listener is nil: look at the error of net.Listen")}
	}
	defer ctxwait.CloseAfter(ctx, ln)()
	if h == nil {
		return &OpError{Op: "serve", Err: errors.New("the Handler is nil")}
	}
	if err := h.Err(); err != nil {
		return err
	}
	defer beginServing(h)()
	log := loglimit.New(loggerOf(h))
	defer loglimit.Flush(log)
	for delay := time.Duration(0); ; {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			delay = 0
			conn.SetReadDeadline(time.Now().Add(greetingTimeout))
			greeted := func() { conn.SetReadDeadline(time.Time{}) }
			if err := serve(ctx, h, conn, greeted); err != nil && ctx.Err() == nil {
				log.Warn("connection to the collector failed; waiting for another", slog.Any("err", err))
			}
			conn.Close()
		case ctx.Err() == nil && temporary(err):
			delay = min(max(2*delay, minAcceptDelay), maxAcceptDelay)
			log.Warn("cannot accept a collector", slog.Any("err", err))
		case ctx.Err() == nil:
			return &OpError{Op: "accept a collector", Err: err}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(delay):
		}
	}
}

// greetingTimeout is how long ServeListener waits for the version of a peer, which keeps
// others waiting.
const greetingTimeout = 10 * time.Second

// How long ServeListener waits after a failure to accept a connection that may pass, such
// as that there are no descriptors left.
const (
	minAcceptDelay = 5 * time.Millisecond
	maxAcceptDelay = time.Second
)

// temporary reports whether a failure to accept may pass.
func temporary(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	//lint:ignore SA1019 Accept has no other way to tell.
	return ok && t.Temporary()
}
