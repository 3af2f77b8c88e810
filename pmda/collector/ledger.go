package collector

import (
	"cmp"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A ledger counts the memory that clients make the Server hold: long requests, profiles, the
// replies of agents while they arrive, and replies that wait to be read. The Server must reserve
// such memory before it allocates it. Each client has an account.
//
// The memory is limited for each client and in total. Moreover, no client may hold more than is
// left for the others: if a few clients take all they can get, the next one can still get as much
// as each of them has. A small allowance of each client is not counted. So small requests always
// succeed, and they need not touch the shared counters.
type ledger struct {
	name      string // for the log
	limit     int64  // of all clients, beyond their allowances
	client    int64  // of one client, the allowance included
	allowance int64

	held atomic.Int64 // by all clients, beyond their allowances
	peak atomic.Int64 // the most since the memory was trimmed
}

func newLedger(name string, limit, client, allowance int) *ledger {
	return &ledger{name: name, limit: int64(limit), client: min(int64(client), int64(limit)/2+int64(allowance)), allowance: int64(allowance)}
}

// beyond returns how much of the memory of one client counts: the part beyond the allowance.
func (l *ledger) beyond(held int64) int64 { return max(held-l.allowance, 0) }

// An account counts what one client holds of a ledger. It is safe for concurrent use.
type account struct {
	ledger *ledger
	held   atomic.Int64
}

// A shortage says why memory was refused.
type shortage struct {
	limit   string // what is limited
	bytes   int64  // its value
	code    pdu.Error
	wanted  int64 // how much the client would hold
	missing int64 // how much others have to give back
}

func (s *shortage) Error() string { return s.code.Error() }
func (s *shortage) Unwrap() error { return s.code }

// reserve reserves n bytes, or returns which limit prevents that.
func (a *account) reserve(n int64) *shortage {
	l := a.ledger
	held, ok := a.add(n)
	if !ok {
		return &shortage{limit: l.name + " of one client", bytes: l.client, code: pdu.ErrTooBig}
	}
	counts := l.beyond(held)
	more := counts - l.beyond(held-n)
	if more == 0 {
		return nil
	}
	total := l.held.Add(more)
	if missing := counts + total - l.limit; missing > 0 {
		a.release(n)
		return &shortage{limit: l.name + " of all clients", bytes: l.limit, code: pdu.ErrAgain, wanted: counts, missing: missing}
	}
	if total > l.peak.Load() {
		l.peak.Store(total) // may replace a concurrent higher peak, which does not matter
	}
	return nil
}

// add adds n bytes to the account if the client's limit permits, and returns what the account
// then holds. What the ledger counts depends on this amount, so each change of the account must
// be followed by the matching change of the ledger.
func (a *account) add(n int64) (held int64, ok bool) {
	for {
		before := a.held.Load()
		if before+n > a.ledger.client {
			return before, false
		}
		if a.held.CompareAndSwap(before, before+n) {
			return before + n, true
		}
	}
}

// release releases n bytes.
func (a *account) release(n int64) {
	l := a.ledger
	held := a.held.Add(-n)
	if less := l.beyond(held+n) - l.beyond(held); less > 0 {
		l.held.Add(-less)
	}
}

// Reservations of at most freeReserve bytes are not counted.
const freeReserve = pdu.FreeSize

// reserve reserves n bytes for the client. what names their purpose in the log if they are
// refused. If all clients together hold too much, reserve disconnects the clients that have not
// read their replies for the longest time.
func (c *client) reserve(what string, n int) error {
	short := c.memory.reserve(int64(n))
	if short != nil && short.missing > 0 && c.s.dropUnread(short) {
		for range dropPolls {
			time.Sleep(dropPoll)
			if short = c.memory.reserve(int64(n)); short == nil {
				break
			}
		}
	}
	if short == nil {
		return nil
	}
	c.logShortage(what, n, short)
	return short
}

// After clients were dropped, reserve tries again dropPolls times, every dropPoll. Usually the
// first try succeeds.
const (
	dropPolls = 20
	dropPoll  = time.Millisecond
)

func (c *client) logShortage(what string, n int, short *shortage) {
	c.s.log.Warn("memory refused", slog.Any("addr", c.conn.RemoteAddr()), slog.String("for", what), slog.Int("bytes", n),
		slog.String("limit", short.limit), slog.Int64("limit_bytes", short.bytes), slog.Any("err", short.code))
}

// release releases n bytes, and schedules a garbage collection if clients now hold little.
func (c *client) release(n int) {
	c.memory.release(int64(n))
	c.s.noteRelease()
}

// A client that leaves a reply unread can be dropped after unreadGrace if it holds at least as much
// as the client that needs memory would, otherwise after unreadPatience.
const (
	unreadGrace    = time.Second
	unreadPatience = 5 * time.Second
)

// dropUnread disconnects clients that leave long replies unread, those that have waited longest
// first, until the missing memory is released. It reports whether it disconnected any.
func (s *Server) dropUnread(short *shortage) bool {
	now := s.clock()
	if last := s.lastDrop.Load(); now-last < int64(dropPolls*dropPoll) || !s.lastDrop.CompareAndSwap(last, now) {
		return false // the latest drop may be enough
	}
	type unread struct {
		c     *client
		since int64
	}
	var list []unread
	s.mu.Lock()
	for c := range s.clients.all() {
		since := c.unread.Load()
		grace := unreadGrace
		if s.ledger.beyond(c.memory.held.Load()) < short.wanted {
			grace = unreadPatience
		}
		if since != 0 && now-since >= int64(grace) {
			list = append(list, unread{c, since})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b unread) int { return cmp.Compare(a.since, b.since) })
	dropped, missing := false, short.missing
	for _, u := range list {
		if missing <= 0 {
			break
		}
		held := u.c.memory.held.Load()
		if !u.c.unread.CompareAndSwap(u.since, 0) {
			continue // it has read the reply
		}
		s.log.Warn("client dropped, since it does not read its replies and memory is short", slog.Any("addr", u.c.conn.RemoteAddr()),
			slog.Uint64("client", u.c.info.Load().Seq), slog.Duration("for", time.Duration(now-u.since)), slog.Int64("bytes", held))
		s.slow.Add(1)
		u.c.conn.Close()
		missing -= 2 * s.ledger.beyond(held) // it does not hold them any more, so that others may hold as much more
		dropped = true
	}
	return dropped
}
