package pmdatrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/trace"
)

const (
	// ackTimeout is the maximum time to write acknowledgements to a client that does not read them.
	// After that the client is disconnected.
	ackTimeout = 30 * time.Second
	// refuseTimeout is the same limit for a refused client. It is short, because other connections
	// wait meanwhile.
	refuseTimeout = 100 * time.Millisecond
	// idleTime is how long a client must be idle before a new one may replace it, if there are
	// MaxClients.
	idleTime = 10 * time.Second
)

// A client is the connection of an application.
type client struct {
	a        *Agent
	conn     net.Conn
	rw       io.ReadWriter // over conn
	in       *tracewire.Decoder
	acks     []byte    // to be written
	writeBy  time.Time // the deadline of writes
	uncounts func()    // stops counting the client for the access rules
	host     string    // for table.hosts
	limit    *connlimit.Conn
	tags     share // of its tags since reset number made; guarded by a.mu
	made     int   // a value of table.resets; guarded by a.mu
}

// admit applies the access rules and the limit to a new connection. It returns nil if it has
// refused the connection.
func (a *Agent) admit(conn net.Conn) *client {
	_, uncounts, err := a.access.CheckHost(conn.RemoteAddr())
	switch {
	case errors.Is(err, pdu.ErrConnLimit):
		a.refuse(conn, trace.ErrConnLimit, "access rule")
	case err != nil:
		a.refuse(conn, trace.ErrPermission, "access rule")
	default:
		limit := a.conns.Add(conn)
		if limit == nil {
			a.refuse(conn, trace.ErrConnLimit, "MaxClients")
			uncounts()
			return nil
		}
		rw := rawconn.New(conn)
		return &client{a: a, conn: conn, rw: rw, in: tracewire.NewDecoder(rw), uncounts: uncounts, limit: limit, host: connlimit.Host(conn)}
	}
	return nil
}

// refuse sends a client the reason for its refusal, and disconnects it.
func (a *Agent) refuse(conn net.Conn, code trace.Error, because string) {
	conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
	conn.Write(tracewire.Ack{From: a.pid, Code: int32(code)}.Append(nil))
	conn.Close()
	a.limitedLog().Warn("application refused", slog.Any("addr", conn.RemoteAddr()),
		slog.String("because of", because), slog.Any("err", code))
}

// serve serves the client until it disconnects or ctx ends.
func (c *client) serve(ctx context.Context) {
	a := c.a
	defer func() {
		c.conn.Close()
		c.uncounts()
		c.limit.Remove()
	}()
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	if a.debugs(logClients) {
		a.limitedLog().Info("application connected", slog.Any("addr", c.conn.RemoteAddr()))
	}
	c.ack(tracewire.Version)
	err := c.flush()
	for err == nil {
		err = c.receive()
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, tracewire.ErrMalformed) || errors.Is(err, os.ErrDeadlineExceeded):
		a.limitedLog().Warn("application disconnected", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
	case a.debugs(logClients):
		a.limitedLog().Info("application gone", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
	}
}

// receive waits for a PDU, and handles it and the PDUs that have arrived with it. Then it writes
// the acknowledgements.
func (c *client) receive() error {
	d, err := c.in.Data()
	if err != nil {
		return err
	}
	c.limit.Used()
	isNew, refused, err := c.take(&d)
	if refused != nil {
		c.a.limitedLog().Warn("value not taken", slog.Any("addr", c.conn.RemoteAddr()),
			slog.Any("err", fmt.Errorf("%v %q: %w", d.Kind, d.Tag, refused)))
	} else if err == nil && c.a.debugs(logClients|logValues) {
		c.logValue(&d, isNew)
	}
	if failed := c.flush(); failed != nil {
		return failed
	}
	return err
}

// take adds the values of d and of the buffered PDUs after it, up to one that must be logged. It
// leaves the last one in d. A refused value is acknowledged with an error.
func (c *client) take(d *tracewire.Data) (isNew bool, refused, err error) {
	a := c.a
	a.mu.Lock()
	defer a.mu.Unlock()
	interval := a.table.interval(time.Now())
	for {
		isNew, refused = a.table.add(d, interval, c)
		if d.Sync {
			c.ack(ackOf(d.Kind, refused))
		}
		if refused != nil || a.debugs(logClients|logValues) || !c.in.Buffered() {
			return isNew, refused, nil
		}
		if *d, err = c.in.Data(); err != nil {
			return false, nil, err
		}
	}
}

// ackOf returns the code that acknowledges a value.
func ackOf(kind tracewire.Kind, refused error) int32 {
	switch refused {
	case nil:
		return int32(kind)
	case errBadTag:
		return int32(errInvalid)
	}
	return int32(errNoSpace)
}

// EINVAL and ENOSPC in the numbers of Linux.
const (
	errInvalid trace.Error = -22
	errNoSpace trace.Error = -28
)

// logValue logs a value or a new tag if trace.control.debug enables it.
func (c *client) logValue(d *tracewire.Data, isNew bool) {
	attrs := []any{slog.Any("addr", c.conn.RemoteAddr()), slog.String("kind", d.Kind.String()), slog.String("tag", string(d.Tag))}
	if isNew && c.a.debugs(logClients) {
		c.a.limitedLog().Info("new tag", attrs...)
	}
	if c.a.debugs(logValues) {
		c.a.limitedLog().Info("value", append(attrs, slog.Float64("value", d.Value), slog.Bool("sync", d.Sync))...)
	}
}

// ack queues an acknowledgement for flush.
func (c *client) ack(code int32) {
	c.acks = tracewire.Ack{From: c.a.pid, Code: code}.Append(c.acks)
}

// flush writes the queued acknowledgements.
func (c *client) flush() error {
	if len(c.acks) == 0 {
		return nil
	}
	// Setting a deadline costs more than the write.
	if now := time.Now(); c.writeBy.Sub(now) < ackTimeout/2 {
		c.writeBy = now.Add(ackTimeout)
		c.conn.SetWriteDeadline(c.writeBy)
	}
	_, err := c.rw.Write(c.acks)
	c.acks = c.acks[:0]
	return err
}
