package pmapi

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
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
// away, so that no answer is ever taken for that of another request. What it asked
// for may be done all the same, once the collector comes to it.
//
// An answer that is malformed, or about something else, is pdu.ErrIPC, of that
// request alone. When the connection breaks, or the collector answers what nobody
// asked, every request fails with pdu.ErrIPC until Reconnect or, with
// Dialer.Survive, by itself.
//
// It is a PMAPI context of the C library. There is no current context.
type Context struct {
	dialer Dialer // completed
	open   opener
	name   string // for errors
	local  *pmns.Tree

	turn    chan struct{} // filled by whoever uses backoff, handed and the link
	backoff backoff
	handed  *handed       // what a context that survives has handed out, or nil
	renames atomic.Uint64 // how often a fetch told that names may stand for other metrics

	mu      sync.Mutex
	link    *link // nil when there is none
	lost    error // why
	dialing context.CancelFunc
	closed  bool
	profile *pdu.Profile // never changed, but replaced
}

// Close ends the context, also for requests in progress, which fail with
// pdu.ErrNoContext, as do later ones. The counterpart of pmDestroyContext(3).
func (c *Context) Close() error {
	c.mu.Lock()
	l, dialing := c.link, c.dialing
	c.closed, c.link = true, nil
	c.mu.Unlock()
	if dialing != nil {
		dialing()
	}
	if l != nil {
		l.close()
	}
	return nil
}

func (c *Context) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// fail wraps an error; nil stays nil.
func (c *Context) fail(op, about string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Host: c.name, Metric: about, Err: err}
}

// takeTurn waits for the turn, which <-c.turn gives back.
func (c *Context) takeTurn(ctx context.Context) error {
	if ctx.Err() != nil { // or else the choice is open
		return context.Cause(ctx)
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin takes the turn for a request, which ends with end. The link then has no
// answers on their way.
func (c *Context) begin(ctx context.Context) (*link, error) {
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	l, err := c.connected(ctx)
	if err != nil {
		<-c.turn
		return nil, err
	}
	l.begin(ctx, c.dialer.RequestTimeout)
	if err := l.drain(); err != nil {
		return nil, c.end(ctx, l, err)
	}
	return l, nil
}

// end ends a request and translates its error.
func (c *Context) end(ctx context.Context, l *link, err error) error {
	l.waiting.End()
	if err != nil {
		err = c.settle(ctx, l, err)
	}
	<-c.turn
	return err
}

// settle translates the error of a request, and gives up a connection that cannot
// be used further.
func (c *Context) settle(ctx context.Context, l *link, err error) error {
	why := l.ended(ctx, err)
	if lost, ok := errors.AsType[lostError](why); ok {
		c.lose(l, lost)
	} else if errors.Is(err, os.ErrDeadlineExceeded) && c.handed != nil && l.silent() {
		c.lose(l, lostError{errSilent})
	}
	if c.isClosed() {
		return pdu.ErrNoContext
	}
	return why
}

var errSilent = errors.New("the collector is silent")

// ended translates the error of a deadline: into that of ctx, or that of the
// link's limit. Any other deadline is not ours, and the stream is no good.
func (l *link) ended(ctx context.Context, err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	switch {
	case hasEnded(ctx):
		return context.Cause(ctx)
	case !l.limit.IsZero() && !time.Now().Before(l.limit):
		return pdu.ErrTimeout
	}
	return lostError{err}
}

// hasEnded reports whether ctx has ended. A stream may see its deadline pass a
// moment before.
func hasEnded(ctx context.Context) bool {
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// lose gives up a connection that has broken.
func (c *Context) lose(l *link, why lostError) {
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
	case c.handed == nil:
		return nil, lost
	}
	l, err := c.replace(ctx, nil)
	if _, failed := err.(unreachable); failed {
		err = lostError{err}
	}
	return l, err
}

// A decoder decodes the body of an answer.
type decoder interface{ Decode(body []byte) error }

// exchange asks one question. The answer is of the wanted kind, and decoded into
// to; then kept is called, before anybody else has the turn. Both may be nil.
func (c *Context) exchange(ctx context.Context, ask pdu.PDU, want pdu.Kind, to decoder, kept func()) error {
	l, err := c.begin(ctx)
	if err != nil {
		return err
	}
	body, err := l.ask(ask, want)
	if err == nil && to != nil {
		err = to.Decode(body)
	}
	if err == nil && kept != nil {
		kept()
	}
	return c.end(ctx, l, err)
}
