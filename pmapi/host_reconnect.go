package pmapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// errTimedOut is ETIMEDOUT in Linux's numbers.
const errTimedOut pdu.Error = -110

// An unreachable is the error of Reconnect: ETIMEDOUT for pmReconnectContext(3), why, and for how
// long it will not try again.
type unreachable struct {
	cause error
	tried bool // in this call, not only in an earlier one
	wait  time.Duration
}

func (e unreachable) Error() string {
	wait := roundUp(e.wait)
	switch {
	case !e.tried:
		return fmt.Sprintf("%v (not tried again yet, next try in %v)", e.cause, wait)
	case wait > 0:
		return fmt.Sprintf("%v (next try in %v)", e.cause, wait)
	}
	return e.cause.Error()
}

// roundUp rounds a time to wait up to seconds, or to milliseconds if it is shorter than one second.
func roundUp(d time.Duration) time.Duration {
	unit := time.Second
	if d < unit {
		unit = time.Millisecond
	}
	return (d + unit - 1).Truncate(unit)
}

func (e unreachable) Unwrap() []error { return []error{errTimedOut, e.cause} }

// A backoff is when to try again. The zero value means now.
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

// Reconnect replaces the connection by a new one. If that fails, it keeps the old connection.
func (h *host) Reconnect(ctx context.Context) error {
	h.mu.Lock()
	old := h.link
	h.mu.Unlock()
	_, err := h.replace(ctx, old)
	return err
}

var errReconnect = errors.New("Reconnect was called")

// disconnected reports whether there is no connection, or one that the other end has closed.
func (h *host) disconnected() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.link == nil || rawconn.Ended(h.link.conn)
}

// replace opens a connection that replaces an old one, if any, unless it is too early to try again.
// Errors: pdu.ErrNoContext, that of ctx, or an unreachable.
func (h *host) replace(ctx context.Context, old *link) (*link, error) {
	dialing, cancel, err := h.beginDialing(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if wait := time.Until(h.backoff.until); wait > 0 {
		return nil, unreachable{cause: h.backoff.cause, wait: wait}
	}
	l, err := h.open(dialing)
	known := h.known
	if err == nil && known != nil && !h.never {
		known, err = h.check(dialing, l)
	}
	switch {
	case h.isClosed():
		err = pdu.ErrNoContext
	case err == nil:
		return l, h.install(l, old, known)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		h.backoff.failed(h.dialer.Backoff, err)
		err = unreachable{err, true, time.Until(h.backoff.until)}
	}
	if l != nil {
		l.close()
	}
	return nil, err
}

// beginDialing returns a context that ends with ctx, or by Close.
func (h *host) beginDialing(ctx context.Context) (context.Context, context.CancelFunc, error) {
	dialing, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		cancel()
		return nil, nil, pdu.ErrNoContext
	}
	h.dialing = cancel
	return dialing, cancel, nil
}

// install replaces an old connection by l. known is the metadata that the host has returned, as the
// new collector has it.
func (h *host) install(l, old *link, known *knownMetadata) error {
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.link = l
		if old != nil {
			h.epoch.Connection++
		}
	}
	h.mu.Unlock()
	if closed {
		l.close()
		return pdu.ErrNoContext
	}
	first := h.never
	h.backoff, h.known, h.never = backoff{}, known, false
	if old != nil {
		l.changes = old.changes // no fetch has reported them
		old.close()
	}
	switch {
	case first:
		h.dialer.Logger.Info("connected", slog.String("host", h.name))
	case known != nil:
		h.dialer.Logger.Info("connected again", slog.String("host", h.name), slog.String("gap", known.gap.Error()))
	}
	return nil
}

// Dup returns a host with another connection and the same metadata to check after a gap.
func (h *host) Dup(ctx context.Context) (source.Source, error) {
	dialing, cancel, err := h.beginDialing(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	d, err := newHost(dialing, h.dialer, h.name, h.open)
	switch {
	case err != nil && h.isClosed():
		return nil, pdu.ErrNoContext
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	if h.known != nil {
		d.known = h.known.clone()
		d.known.gap, d.known.lostAt, d.known.cause = nil, time.Time{}, nil
		if d.never && !h.never { // there is something to check on its first connection
			d.never = false
			d.known.setLost(d.backoff.cause)
		}
	}
	return d, nil
}
