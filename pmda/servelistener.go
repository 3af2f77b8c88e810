package pmda

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/loglimit"
)

// ServeListener serves the collectors that connect to a listener, one after the other, as Serve
// does. When a collector has closed its connection, or the connection has failed, it serves the
// next one. It logs the failure. A collector that connects meanwhile waits, because the client
// numbers that an agent sees are unique only within one collector.
//
// A peer that does not send its version within 10 seconds is disconnected. ServeListener returns
// the cause of ctx when ctx ends, or the error that prevents it from accepting more collectors, and
// closes the listener. It does not serve a Handler whose Err returns an error.
//
//	ln, err := net.Listen("unix", "/run/pcp/pmda.cache")
//	if err != nil {
//		return err
//	}
//	return pmda.ServeListener(ctx, a, ln)
//
// Such a socket belongs to a line of pmcd.conf without a command:
//
//	cache 400 socket unix /run/pcp/pmda.cache
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
	for {
		conn, err := connlimit.Accept(ctx, ln, func(err error) bool {
			temporary := connlimit.Temporary(err)
			if temporary {
				log.Warn("cannot accept a collector", slog.Any("err", err))
			}
			return temporary
		})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return &OpError{Op: "accept a collector", Err: err}
		}
		conn.SetReadDeadline(time.Now().Add(greetingTimeout))
		greeted := func() { conn.SetReadDeadline(time.Time{}) }
		if err := serve(ctx, h, conn, greeted); err != nil && ctx.Err() == nil {
			log.Warn("connection to the collector failed; waiting for another", slog.Any("err", err))
		}
		conn.Close()
	}
}

// greetingTimeout limits how long ServeListener waits for the version of a peer, because other
// peers wait meanwhile.
const greetingTimeout = 10 * time.Second
