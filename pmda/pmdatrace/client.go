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

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/trace"
)

const (
	// ackTimeout is how long a client may leave the answers to what it has sent unread, after they
	// have filled all buffers, before it is disconnected.
	ackTimeout = 30 * time.Second
	// refuseTimeout is the same for one that is refused, for which others wait.
	refuseTimeout = 100 * time.Millisecond
)

// A client is the connection of an application.
type client struct {
	a        *Agent
	conn     net.Conn
	rw       io.ReadWriter // over conn
	in       *trace.Decoder
	acks     []byte    // to be written
	writeBy  time.Time // the deadline of writes
	uncounts func()    // makes it count no more for the access rules
}

// admit applies the access rules and the limit to a new connection. It returns nil after it has refused it.
func (a *Agent) admit(conn net.Conn) *client {
	_, uncounts, err := a.access.CheckHost(conn.RemoteAddr())
	switch {
	case errors.Is(err, pdu.ErrConnLimit):
		a.refuse(conn, trace.ErrConnLimit, "access rule")
	case err != nil:
		a.refuse(conn, trace.ErrPermission, "access rule")
	case !a.enter():
		a.refuse(conn, trace.ErrConnLimit, "MaxClients")
		uncounts()
	default:
		rw := rawconn.New(conn)
		return &client{a: a, conn: conn, rw: rw, in: trace.NewDecoder(rw), uncounts: uncounts}
	}
	return nil
}

// enter counts a client, unless there are too many.
func (a *Agent) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.connected >= a.limits.clients {
		return false
	}
	a.connected++
	return true
}

// refuse tells a client why it is refused, and disconnects it.
func (a *Agent) refuse(conn net.Conn, code trace.Error, because string) {
	conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
	conn.Write(trace.Ack{From: a.pid, Code: int32(code)}.Append(nil))
	conn.Close()
	a.limitedLog().Warn("application refused", slog.Any("addr", conn.RemoteAddr()),
		slog.String("because of", because), slog.Any("err", code))
}

// serve serves the client until it goes or ctx ends.
func (c *client) serve(ctx context.Context) {
	a := c.a
	defer func() {
		c.conn.Close()
		c.uncounts()
		a.mu.Lock()
		a.connected--
		a.mu.Unlock()
	}()
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	if a.debugs(DebugAppl0) {
		a.limitedLog().Info("application connected", slog.Any("addr", c.conn.RemoteAddr()))
	}
	c.ack(trace.Version)
	err := c.flush()
	for err == nil {
		err = c.receive()
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, trace.ErrIPC) || errors.Is(err, os.ErrDeadlineExceeded):
		a.limitedLog().Warn("application disconnected", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
	case a.debugs(DebugAppl0):
		a.limitedLog().Info("application gone", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
	}
}

// receive waits for a PDU, and takes those that have come with it. Then it writes the answers.
func (c *client) receive() error {
	d, err := c.in.Data()
	if err != nil {
		return err
	}
	isNew, refused, err := c.take(&d)
	if refused != nil {
		c.a.limitedLog().Warn("value not taken", slog.Any("addr", c.conn.RemoteAddr()),
			slog.Any("err", fmt.Errorf("%v %q: %w", d.Kind, d.Tag, refused)))
	} else if err == nil && c.a.debugs(DebugAppl0|DebugPDU) {
		c.logValue(&d, isNew)
	}
	if failed := c.flush(); failed != nil {
		return failed
	}
	return err
}

// take takes d and the PDUs behind it that have been read already, up to one that is to be logged. d is the last
// then. A value that is refused is answered like others: no application shall fail for want of room in an agent.
func (c *client) take(d *trace.Data) (isNew bool, refused, err error) {
	a := c.a
	a.mu.Lock()
	defer a.mu.Unlock()
	interval := a.table.interval(time.Now())
	for {
		isNew, refused = a.table.add(d, interval)
		if d.Sync {
			c.ack(int32(d.Kind))
		}
		if refused != nil || a.debugs(DebugAppl0|DebugPDU) || !c.in.Buffered() {
			return isNew, refused, nil
		}
		if *d, err = c.in.Data(); err != nil {
			return false, nil, err
		}
	}
}

// logValue logs a value for those who asked for it.
func (c *client) logValue(d *trace.Data, isNew bool) {
	attrs := []any{slog.Any("addr", c.conn.RemoteAddr()), slog.String("kind", d.Kind.String()), slog.String("tag", string(d.Tag))}
	if isNew && c.a.debugs(DebugAppl0) {
		c.a.limitedLog().Info("new tag", attrs...)
	}
	if c.a.debugs(DebugPDU) {
		c.a.limitedLog().Info("value", append(attrs, slog.Float64("value", d.Value), slog.Bool("sync", d.Sync))...)
	}
}

// ack adds an answer to those that are to be written.
func (c *client) ack(code int32) {
	c.acks = trace.Ack{From: c.a.pid, Code: code}.Append(c.acks)
}

// flush writes the answers.
func (c *client) flush() error {
	if len(c.acks) == 0 {
		return nil
	}
	if now := time.Now(); c.writeBy.Sub(now) < ackTimeout/2 { // to set it each time costs more than the write
		c.writeBy = now.Add(ackTimeout)
		c.conn.SetWriteDeadline(c.writeBy)
	}
	_, err := c.rw.Write(c.acks)
	c.acks = c.acks[:0]
	return err
}
