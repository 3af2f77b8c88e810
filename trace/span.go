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
// The zero Span has ended. A Span must be used by one goroutine at a time. A copy ends separately.
type Span struct {
	c     *Client
	tag   string
	start time.Time
}

// Begin starts a transaction. Transactions with the same tag may overlap. The counterpart of
// pmtracebegin(3).
func (c *Client) Begin(tag string) Span { return Span{c: c, tag: tag, start: time.Now()} }

// End ends the transaction and reports its duration. It does nothing if the Span has ended. The
// counterpart of pmtraceend(3).
func (s *Span) End() {
	if c := s.c; c != nil {
		s.c = nil
		c.Transaction(s.tag, time.Since(s.start))
	}
}

// Abort ends the transaction without a report. A later End does nothing. The counterpart of
// pmtraceabort(3).
func (s *Span) Abort() { s.c = nil }

type clientKey struct{}

// NewContext returns a context with c as its Client.
func NewContext(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// discard is the Client of contexts without one.
var discard = &Client{Config: Config{NoAgent: true}}

// FromContext returns the Client of ctx. Without one, or if it is nil, it returns a Client that
// sends nothing.
func FromContext(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok && c != nil {
		return c
	}
	return discard
}
