package pmapi

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A Context is a source of metrics: a collector that it is connected to. Dial
// opens one, Local one on a collector in this process.
//
// It is safe for concurrent use: requests take turns on its connection, in no
// particular order. A request that ends early, by its context.Context or the
// Dialer's RequestTimeout, leaves an answer that the next request reads and throws
// away, so that no answer is ever taken for that of another request.
//
// When the connection breaks, every request fails with pdu.ErrIPC until Reconnect
// or, with Dialer.Survive, by itself.
//
// It is a PMAPI context of the C library. There is no current context.
type Context struct {
	dialer Dialer // completed
	open   opener
	name   string // for errors
	local  *pmns.Tree

	turn chan struct{} // filled by whoever uses what follows

	backoff backoff
	handed  *handed // what a context that survives has handed out, or nil

	mu      sync.Mutex
	link    *link // nil when there is none
	lost    error // why
	closed  bool
	profile *pdu.Profile // never changed, but replaced
}

// Close ends the context, also for requests in progress, which fail with
// pdu.ErrNoContext, as do later ones. The counterpart of pmDestroyContext(3).
func (c *Context) Close() error {
	c.mu.Lock()
	l := c.link
	c.closed, c.link = true, nil
	c.mu.Unlock()
	if l != nil {
		l.close()
	}
	return nil
}

// fail wraps an error; nil stays nil.
func (c *Context) fail(op, about string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Host: c.name, Metric: about, Err: err}
}

// begin takes the turn for a request, which ends with end. The link then has no
// answers on their way.
func (c *Context) begin(ctx context.Context) (*link, error) {
	select {
	case c.turn <- struct{}{}:
	default:
		select {
		case c.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	l, err := c.connected(ctx)
	if err != nil {
		<-c.turn
		return nil, err
	}
	l.waiting.Begin(ctx, deadline(ctx, c.dialer.RequestTimeout))
	if err := l.drain(); err != nil {
		return nil, c.end(ctx, l, err)
	}
	return l, nil
}

// end ends a request and translates its error.
func (c *Context) end(ctx context.Context, l *link, err error) error {
	if err != nil {
		err = c.settle(ctx, l, err)
	}
	l.waiting.End()
	<-c.turn
	return err
}

func (c *Context) settle(ctx context.Context, l *link, err error) error {
	if _, broken := errors.AsType[lostError](err); broken {
		c.lose(l, err)
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return pdu.ErrNoContext
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return pdu.ErrTimeout
}

// lose gives up a connection that has broken.
func (c *Context) lose(l *link, why error) {
	l.close()
	c.mu.Lock()
	mine := c.link == l
	if mine {
		c.link, c.lost = nil, why
	}
	c.mu.Unlock()
	if mine && c.handed != nil {
		c.handed.lost(why)
		c.dialer.Logger.Warn("connection lost", slog.String("host", c.name), slog.Any("err", why))
	}
}

// connected is the link, if there is one. The caller has the turn.
func (c *Context) connected(ctx context.Context) (*link, error) {
	c.mu.Lock()
	l, lost, closed := c.link, c.lost, c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return nil, pdu.ErrNoContext
	case l != nil:
		return l, nil
	case c.dialer.Survive:
		return c.revive(ctx)
	}
	return nil, lost
}

// deadline is when what begins now has to end: zero for never.
func deadline(ctx context.Context, limit time.Duration) time.Time {
	var t time.Time
	if limit > 0 {
		t = time.Now().Add(limit)
	}
	if d, ok := ctx.Deadline(); ok && (t.IsZero() || d.Before(t)) {
		return d
	}
	return t
}

// A decoder decodes the body of an answer.
type decoder interface{ Decode(body []byte) error }

// exchange asks one question. The answer is of the wanted kind, and decoded into
// to.
func (c *Context) exchange(ctx context.Context, ask pdu.PDU, want pdu.Kind, to decoder) error {
	l, err := c.begin(ctx)
	if err != nil {
		return err
	}
	body, err := l.ask(ask, want)
	if err == nil && to != nil {
		err = to.Decode(body)
	}
	return c.end(ctx, l, err)
}
