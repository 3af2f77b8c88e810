package trace

import (
	"context"
	"time"
)

// A Span is a transaction in progress. Spans are values: any number of them, of
// the same tag or not, may be in progress at once, one in another or side by
// side in many goroutines.
//
//	sp := client.Begin("checkout")
//	defer sp.End()
//
// The zero Span is one that has ended. One goroutine at a time may use a Span; a
// copy is a Span of its own, which ends on its own.
type Span struct {
	c     *Client
	tag   string
	start time.Time
}

// Begin starts a transaction. Transactions of one tag may overlap. It is the counterpart of
// pmtracebegin(3).
func (c *Client) Begin(tag string) Span { return Span{c: c, tag: tag, start: time.Now()} }

// End ends the transaction and reports how long it took. It does nothing if the
// Span has ended. The counterpart of pmtraceend(3).
func (s *Span) End() {
	if c := s.c; c != nil {
		s.c = nil
		c.Transaction(s.tag, time.Since(s.start))
	}
}

// Abort ends the transaction and reports nothing, now and in a later End. The
// counterpart of pmtraceabort(3).
func (s *Span) Abort() { s.c = nil }

// Default is the Client of contexts without one. It sends to the agent of this host,
// localhost:4323, and reads nothing from the environment. It connects when it gets its first
// datum, in a test too, unless trace.Default.NoAgent is set before that.
var Default = new(Client)

type clientKey struct{}

// NewContext returns a context with c as its Client.
func NewContext(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// FromContext returns the Client of ctx: that of the nearest NewContext, or Default, also where
// that is nil.
func FromContext(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok && c != nil {
		return c
	}
	return Default
}

// Begin starts a transaction of the Client of ctx: see Client.Begin. Like Point, Observe and
// Counter, it uses Default if ctx does not come from NewContext.
func Begin(ctx context.Context, tag string) Span { return FromContext(ctx).Begin(tag) }

// Point is Client.Point of the Client of ctx.
func Point(ctx context.Context, tag string) { FromContext(ctx).Point(tag) }

// Observe is Client.Observe of the Client of ctx.
func Observe(ctx context.Context, tag string, value float64) { FromContext(ctx).Observe(tag, value) }

// Counter is Client.Counter of the Client of ctx.
func Counter(ctx context.Context, tag string, value float64) { FromContext(ctx).Counter(tag, value) }
