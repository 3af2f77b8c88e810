package trace

import (
	"context"
	"time"
)

// A Span is a transaction in progress. Any number of Spans may be in progress at once, nested or in
// several goroutines, with equal or different tags.
//
//	sp := client.Begin("checkout")
//	defer sp.End()
//
// The zero Span has ended. One goroutine at a time may use a Span. A copy ends separately.
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

type clientKey struct{}

// NewContext returns a context with c as its Client.
func NewContext(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// discard is the Client of contexts without one.
var discard = &Client{Config: Config{NoAgent: true}}

// FromContext returns the Client of the nearest NewContext, or one that sends nothing if there is
// none or it is nil.
func FromContext(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok && c != nil {
		return c
	}
	return discard
}
