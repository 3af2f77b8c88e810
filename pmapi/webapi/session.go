package webapi

import (
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

// backoff is how long a gateway waits after failed attempts to connect to a collector.
var backoff = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

// A session is a context of a client.
type session struct {
	id      uint32
	client  netip.Addr
	poll    time.Duration // it expires after so long without a request
	login   login         // of the client that opened it
	scrapes *scrapeKey    // if not nil, only scrapes with this key find it
	c       *pmapi.Context

	// The lock of contexts guards these.
	users     int // requests in progress
	expires   time.Time
	temporary bool // no new request finds it
	derived   int  // memory of its derived metrics, in bytes

	// The request that holds turn uses these.
	turn   ctxwait.Mutex
	lost   bool // the connection is lost
	result pdu.Result
	plans  map[planKey]*plan
	pages  map[pageKey]exposition.Pager
	kept   *keptPage // the last page whose request ended early

	flights flights
}

// isOver reports whether the session has expired.
func (s *session) isOver(now time.Time) bool { return s.users == 0 && !now.Before(s.expires) }

// open finds the context of the request, or opens one, and waits for its turn. The session is
// released at the end of the request.
func (q *query) open() error {
	if err := q.find(); err != nil {
		return err
	}
	return q.take()
}

// find finds the context of the request, or opens one.
func (q *query) find() error {
	id, given := q.params.get("context")
	switch {
	case given && id != "" && !isNumber(id):
		return badRequest("invalid context identifier: " + id)
	case !given && q.pathID == "":
		return q.openNew(false)
	case !given:
		id = q.pathID
	}
	if id == "" {
		id = "0" // no context has the number 0
	}
	shown := strings.TrimLeft(id, "0")
	if shown == "" || len(shown) > 20 {
		shown = "0"
	}
	if !q.isContext {
		q.shownID = shown
	}
	var s *session
	expired := false
	if n, err := strconv.ParseUint(id, 10, 32); err == nil {
		s, expired = q.g.contexts.find(uint32(n))
	}
	switch {
	case expired:
		return badRequest("expired context identifier: " + id)
	case s == nil:
		return badRequest("unknown context identifier: " + id)
	}
	q.shownID = shown
	if err := q.mayUse(s); err != nil {
		q.g.contexts.release(s)
		return err
	}
	q.s = s
	return nil
}

// take waits for the turn of the session, and reconnects if the connection is lost.
func (q *query) take() error {
	s := q.s
	if err := s.turn.Lock(q.ctx); err != nil {
		return err
	}
	q.hasTurn = true
	if !s.lost {
		return nil
	}
	if err := s.c.Reconnect(q.ctx); err != nil {
		return badRequest("cannot reconnect context: " + text(err))
	}
	s.lost = false
	clear(s.plans)
	clear(s.pages)
	s.kept = nil
	return nil
}

// leave releases the session.
func (q *query) leave(err error) {
	if q.s == nil {
		return
	}
	if q.hasTurn {
		if errors.Is(err, pdu.ErrIPC) && !errors.Is(err, pdu.ErrNoContext) {
			q.s.lost = true
		}
		q.s.turn.Unlock()
	}
	q.g.contexts.release(q.s)
	q.s, q.hasTurn = nil, false
}

// openNew opens a context. If temporary is set, the context is only for this request.
func (q *query) openNew(temporary bool) error {
	poll, err := q.pollTimeout()
	if err != nil {
		return err
	}
	open, l, err := q.source()
	if err != nil {
		return err
	}
	if err := q.connect(open, &session{poll: poll, login: l, temporary: temporary}); err != nil {
		return err
	}
	q.shownID = strconv.FormatUint(uint64(q.s.id), 10)
	return nil
}

// connect opens the context of a new session for this request.
func (q *query) connect(open opener, s *session) error {
	s.client = q.clientAddr()
	if err := q.g.contexts.reserve(s); err != nil {
		return err
	}
	c, err := open(q.ctx)
	if err != nil {
		q.g.contexts.release(s)
		failed := cannotConnect(s.login, err)
		if !isLoginError(pdu.FromError(err)) { // loginFailed has logged those
			q.g.log.Warn("a context cannot be opened", slog.Any("addr", loglimit.Text(q.r.RemoteAddr)), slog.Any("err", failed))
		}
		return failed
	}
	q.g.contexts.opened(s, c)
	q.s = s
	return nil
}

// clientAddr returns the client's IP address. It is invalid for a client on a unix socket.
func (q *query) clientAddr() netip.Addr {
	addr, _ := netip.ParseAddrPort(q.r.RemoteAddr)
	return addr.Addr().Unmap().WithZone("")
}

// pollTimeout returns how long the context that the request opens may be idle.
func (q *query) pollTimeout() (time.Duration, error) {
	text, ok := q.params.get("polltimeout")
	if !ok {
		return q.g.limits.PollTimeout, nil
	}
	v, n, _ := scan.Float(text) // as strtod(3): an empty text is 0, and what is too large is infinite
	if n < len(text) || math.IsNaN(v) || v < 0 {
		return 0, badRequest("invalid timeout requested in polltime")
	}
	longest := q.g.limits.MaxPollTimeout
	if v >= longest.Seconds() {
		return longest, nil
	}
	return time.Duration(v * float64(time.Second)), nil
}

// mayUse returns an error if the client has not logged in as the user that opened the context.
func (q *query) mayUse(s *session) error {
	if s.login.user == "" {
		return nil
	}
	l, err := q.login()
	switch {
	case err != nil:
		return err
	case l.user == "":
		return errNeedLogin
	case !l.equal(s.login):
		err := &failure{http.StatusForbidden, "authentication failed"}
		q.loginFailed(l, err)
		return err
	}
	return nil
}
