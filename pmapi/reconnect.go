package pmapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// errTimedOut is ETIMEDOUT in Linux's numbers.
const errTimedOut pdu.Error = -110

// An unreachable is the error of Reconnect: ETIMEDOUT, and why.
type unreachable struct{ cause error }

func (e unreachable) Error() string { return errTimedOut.Error() + ": " + e.cause.Error() }

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

// Reconnect connects anew, also if the connection has not broken. The profile is
// kept. After a failure it does not try again for a while (Dialer.Backoff), and
// fails at once: both are ETIMEDOUT (syscall.ETIMEDOUT), with the cause of the
// failure. The counterpart of pmReconnectContext(3).
func (c *Context) Reconnect(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return c.fail("reconnect", "", context.Cause(ctx))
	}
	defer func() { <-c.turn }()
	c.mu.Lock()
	closed, old := c.closed, c.link
	c.mu.Unlock()
	if closed {
		return c.fail("reconnect", "", pdu.ErrNoContext)
	}
	if _, err := c.replace(ctx, old); err != nil {
		return c.fail("reconnect", "", err)
	}
	return nil
}

// replace opens a connection in the place of an old one, or of none, unless it is
// too early to try again. The caller has the turn.
func (c *Context) replace(ctx context.Context, old *link) (*link, error) {
	if time.Now().Before(c.backoff.until) {
		return nil, unreachable{c.backoff.cause}
	}
	l, err := c.open(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		c.backoff.failed(c.dialer.Backoff, err)
		return nil, unreachable{err}
	}
	c.backoff = backoff{}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.link = l
	}
	c.mu.Unlock()
	if closed {
		l.close()
		return nil, pdu.ErrNoContext
	}
	if old != nil {
		l.news |= old.news
		old.close()
	}
	return l, nil
}

// Dup opens another context on the same source, with the same profile and a
// connection of its own. The counterpart of pmDupContext(3).
func (c *Context) Dup(ctx context.Context) (*Context, error) {
	c.mu.Lock()
	closed, profile := c.closed, c.profile
	c.mu.Unlock()
	if closed {
		return nil, c.fail("dup", "", pdu.ErrNoContext)
	}
	d, err := c.dialer.newContext(ctx, c.name, c.open)
	if err != nil {
		return nil, err
	}
	d.profile = profile
	return d, nil
}
