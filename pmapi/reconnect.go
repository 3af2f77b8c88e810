package pmapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// errTimedOut is ETIMEDOUT in Linux's numbers.
const errTimedOut pdu.Error = -110

// An unreachable is the error of Reconnect: ETIMEDOUT, why, and for how long it
// will not try again.
type unreachable struct {
	cause error
	wait  time.Duration
}

func (e unreachable) Error() string {
	text := errTimedOut.Error() + ": " + e.cause.Error()
	if e.wait >= time.Second/2 {
		text += fmt.Sprintf(" (next try in %v)", e.wait.Round(time.Second))
	}
	return text
}

func (e unreachable) Unwrap() []error { return []error{errTimedOut, e.cause} }

// A backoff says when to try again. The zero value says now.
type backoff struct {
	failures int
	until    time.Time
	cause    error // of the latest failure
}

func (b *backoff) failed(delays []time.Duration, cause error) {
	b.cause = cause
	if len(delays) > 0 {
		b.until = time.Now().Add(delays[min(b.failures, len(delays)-1)])
	}
	b.failures++
}

// unreachable is the error of the latest failure.
func (b *backoff) unreachable() error { return unreachable{b.cause, time.Until(b.until)} }

// Reconnect connects anew, also if the connection has not broken; that is kept if
// it fails. The profile is kept too. After a failure it does not try again for a
// while (Dialer.Backoff), and fails at once: both are ETIMEDOUT
// (syscall.ETIMEDOUT), with the cause of the failure. A context that survives has a
// Gap then. The counterpart of pmReconnectContext(3).
func (c *Context) Reconnect(ctx context.Context) error {
	if err := c.takeTurn(ctx); err != nil {
		return c.fail("reconnect", "", err)
	}
	defer func() { <-c.turn }()
	c.mu.Lock()
	old := c.link
	c.mu.Unlock()
	_, err := c.replace(ctx, old)
	return c.fail("reconnect", "", err)
}

var errAsked = errors.New("a new connection was asked for")

// replace opens a connection in the place of an old one, or of none, unless it is
// too early to try again. The caller has the turn. Errors: pdu.ErrNoContext, that
// of ctx, or an unreachable.
func (c *Context) replace(ctx context.Context, old *link) (*link, error) {
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	closed := c.closed
	c.dialing = cancel
	c.mu.Unlock()
	if closed {
		return nil, pdu.ErrNoContext
	}
	if time.Now().Before(c.backoff.until) {
		return nil, c.backoff.unreachable()
	}
	l, err := c.open(dialing)
	var h *handed
	if err == nil && c.handed != nil {
		h, err = c.check(dialing, l)
	}
	switch {
	case c.isClosed():
		err = pdu.ErrNoContext
	case err == nil:
		return l, c.install(l, old, h)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		c.backoff.failed(c.dialer.Backoff, err)
		err = c.backoff.unreachable()
	}
	if l != nil {
		l.close()
	}
	return nil, err
}

// install puts a connection in the place of an old one. h is what there is on it
// of what was handed out.
func (c *Context) install(l, old *link, h *handed) error {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.link = l
	}
	c.mu.Unlock()
	if closed {
		l.close()
		return pdu.ErrNoContext
	}
	c.backoff, c.handed = backoff{}, h
	if old != nil {
		l.news = old.news // nobody has heard of them
		old.close()
	}
	if h != nil {
		c.dialer.Logger.Info("connected again", slog.String("host", c.name), slog.String("gap", h.gap.Error()))
	}
	return nil
}

// Dup opens another context on the same source, with the same profile and a
// connection of its own. Of a context that survives it takes over what is looked
// at after a Gap. The counterpart of pmDupContext(3).
func (c *Context) Dup(ctx context.Context) (*Context, error) {
	if c.isClosed() {
		return nil, c.fail("dup", "", pdu.ErrNoContext)
	}
	d, err := c.dialer.newContext(ctx, c.name, c.open)
	if err != nil {
		return nil, err
	}
	d.profile = c.currentProfile()
	if c.dialer.Survive {
		if err := c.takeTurn(ctx); err != nil {
			d.Close()
			return nil, c.fail("dup", "", err)
		}
		d.handed = c.handed.clone()
		d.handed.gap, d.handed.lostAt, d.handed.cause = nil, time.Time{}, nil
		<-c.turn
	}
	return d, nil
}
