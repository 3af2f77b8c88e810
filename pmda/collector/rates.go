package collector

import (
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// SetLimits replaces the limits of each client, including connected ones. It does not change the
// field Limits, which has the limits at the start.
func (s *Server) SetLimits(l pmcdconf.Limits) {
	s.init()
	s.clientLimits.Store(&l)
}

// A limitError reports that a client has reached one of its limits. Clients get pdu.ErrAgain.
type limitError struct{ limit string }

func (e *limitError) Error() string { return "the client has reached its limit of " + e.limit }

func (e *limitError) Unwrap() error { return pdu.ErrAgain }

// A rate is the remaining budget of a client for something that is limited per second. At the
// start it is the budget of one second.
type rate struct {
	left float64
	at   time.Time // when left was computed; zero at the start
}

// refill updates the budget for now. It returns false if nothing is left.
func (r *rate) refill(limit int, now time.Time) bool {
	if limit <= 0 {
		r.at = time.Time{}
		return true
	}
	if r.at.IsZero() {
		r.left = float64(limit)
	} else {
		r.left = min(r.left+float64(limit)*now.Sub(r.at).Seconds(), float64(limit))
	}
	r.at = now
	return r.left > 0
}

// rates holds the rates of a client, and the bytes since its last request. They belong to the
// goroutine that serves the client.
type rates struct {
	requests, bytes rate
	moved           int  // bytes of PDUs since the last request
	logged          bool // a limit was reached
}

// charge counts a request that has arrived against the limits of the client. It fails if the
// client has reached a limit. A PDU without a reply counts but is never refused, because the
// client would mistake the error for the reply to its next request. A client in this process has
// no limits.
func (c *client) charge(h pdu.Header) error {
	l := c.s.clientLimits.Load()
	if l.Requests == 0 && l.Bytes == 0 {
		c.rates.moved = 0
		return nil
	}
	if _, local := c.conn.(inProcess); local {
		return nil
	}
	now := time.Now()
	r := &c.rates
	limit := ""
	r.bytes.left -= float64(r.moved) // may become negative after a long reply
	r.moved = 0
	if !r.bytes.refill(l.Bytes, now) {
		limit = "bytes"
	}
	if !r.requests.refill(l.Requests, now) {
		limit = "requests"
	}
	r.bytes.left -= float64(h.Len)
	switch h.Kind {
	case pdu.KindAttr, pdu.KindProfile:
		limit = ""
	case pdu.KindCreds: // only later CREDS get a reply if they fail
		if !c.hasCreds.Load() {
			limit = ""
		}
	}
	if limit == "" {
		r.requests.left--
		return nil
	}
	c.logLimit(limit)
	return &limitError{limit}
}

// tooManyContexts reports whether the client has reached its limit of contexts.
func (c *client) tooManyContexts() bool {
	n := len(c.profiles)
	if n >= c.s.limits.contexts {
		return true
	}
	l := c.s.clientLimits.Load()
	if _, local := c.conn.(inProcess); local || l.Contexts == 0 || n < l.Contexts {
		return false
	}
	c.logLimit("contexts")
	return true
}

// logLimit logs that a client has reached a limit, once per client.
func (c *client) logLimit(limit string) {
	if c.rates.logged {
		return
	}
	c.rates.logged = true
	c.s.log.Warn("client has reached a limit", slog.Any("addr", c.conn.RemoteAddr()), slog.Uint64("client", c.info.Load().Seq), slog.String("limit", limit))
}
