package pmapi

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A host is a collector as a source of metrics: a connection to it, and how to make
// another.
type host struct {
	dialer Dialer // completed
	open   opener
	name   string // for errors and the log

	// Only calls use these, one call at a time.
	backoff backoff
	known   *knownMetadata // what a source with AutoReconnect has returned, or nil
	never   bool           // there has been no connection yet

	mu      sync.Mutex
	link    *link // nil without a connection
	lost    error // why there is no link
	dialing context.CancelFunc
	closed  bool
	epoch   source.Epoch
}

// newHost connects to a host. With AutoReconnect, a first connection that fails is tried again by
// requests. d is complete.
func newHost(ctx context.Context, d Dialer, name string, open opener) (*host, error) {
	h := &host{dialer: d, open: open, name: name}
	if d.AutoReconnect {
		h.known = newKnownMetadata()
	}
	l, err := open(ctx)
	switch {
	case err == nil:
		h.link = l
	case h.known == nil || ctx.Err() != nil:
		return nil, err
	default:
		h.never = true
		h.backoff.failed(d.Backoff, err)
		d.Logger.Warn("no connection yet", slog.String("host", name), slog.Any("err", err))
	}
	return h, nil
}

func (h *host) Close() error {
	h.mu.Lock()
	l, dialing := h.link, h.dialing
	h.closed, h.link = true, nil
	h.mu.Unlock()
	if dialing != nil {
		dialing()
	}
	if l != nil {
		l.close()
	}
	return nil
}

func (h *host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func (h *host) Epoch() source.Epoch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

func (h *host) Now() time.Time { return time.Now() }

func (h *host) Sleep(ctx context.Context, d time.Duration) error { return ctxwait.Sleep(ctx, d) }

// begin begins a request, which ends with end. The link then has no late replies to read.
func (h *host) begin(ctx context.Context) (*link, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l, err := h.connected(ctx)
	if err != nil {
		return nil, err
	}
	l.begin(ctx, h.dialer.RequestTimeout)
	if err := l.discardLateReplies(); err != nil {
		return nil, h.end(ctx, l, err)
	}
	return l, nil
}

// end ends a request and translates its error. A connection that cannot be used
// further is given up.
func (h *host) end(ctx context.Context, l *link, err error) error {
	l.deadline.Stop()
	if err == nil {
		return nil
	}
	why := l.ended(ctx, err)
	if lost, ok := why.(lostError); ok {
		lost.addr = l.addr
		why = lost
		h.lose(l, lost)
	} else if errors.Is(err, os.ErrDeadlineExceeded) && h.known != nil && l.silent() {
		h.lose(l, lostError{l.addr, errSilent})
	} else if l.unsent {
		h.lose(l, lostError{l.addr, err}) // now, so that the next request need not find it out
	}
	if h.isClosed() {
		return pdu.ErrNoContext
	}
	return why
}

var errSilent = errors.New("the collector is silent")

// ended translates the error of a deadline: into that of ctx, or that of the
// link's limit. Any other deadline is not ours, and the stream cannot be used further.
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
	return lostError{cause: err}
}

// hasEnded reports whether ctx has ended. The deadline of a stream may pass a moment before that of
// ctx.
func hasEnded(ctx context.Context) bool {
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// lose gives up a connection that has broken.
func (h *host) lose(l *link, why lostError) {
	l.close()
	h.mu.Lock()
	current := h.link == l
	if current {
		h.link, h.lost = nil, why
		h.epoch.Connection++
	}
	h.mu.Unlock()
	if current && h.known != nil {
		h.known.setLost(why)
		h.dialer.Logger.Warn("connection lost", slog.String("host", h.name), slog.Any("err", why))
	}
}

// connected returns the link. A source with AutoReconnect makes a new link if the old one is lost.
func (h *host) connected(ctx context.Context) (*link, error) {
	h.mu.Lock()
	l, lost, closed := h.link, h.lost, h.closed
	h.mu.Unlock()
	switch {
	case closed:
		return nil, pdu.ErrNoContext
	case l != nil:
		return l, nil
	case h.known == nil:
		return nil, lost
	}
	l, err := h.replace(ctx, nil)
	if _, failed := err.(unreachable); failed {
		err = lostError{cause: err}
	}
	return l, err
}

// A decoder decodes the body of a reply.
type decoder interface{ Decode(body []byte) error }

// roundTrip sends a request and decodes its reply, of the wanted kind, into reply,
// unless that is nil.
func (h *host) roundTrip(ctx context.Context, req pdu.PDU, want pdu.Kind, reply decoder) error {
	l, err := h.begin(ctx)
	if err != nil {
		return err
	}
	body, err := l.roundTrip(req, want)
	if err == nil && reply != nil {
		err = l.decode(reply, body)
	}
	return h.end(ctx, l, err)
}

// A lostError is the error of every request without a connection: ErrIPC, and the cause.
type lostError struct {
	addr  string // of the connection that has broken, or empty
	cause error
}

func (e lostError) Error() string {
	if e.addr == "" {
		return e.cause.Error()
	}
	return "connection to " + e.addr + " lost: " + e.cause.Error()
}

func (e lostError) Unwrap() []error { return []error{pdu.ErrIPC, e.cause} }
