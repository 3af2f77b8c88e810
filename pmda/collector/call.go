package collector

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Agents in this process are called on the goroutine of the client that asks,
// since a hand-over costs more than most answers. What if an agent does not
// return? The watchdog takes the client over: by a compare-and-swap of
// client.inCall another goroutine gets the client, answers for the agent with a
// time-out, and serves on; the stuck one discards its work when it returns, and
// ends. What the agent was given belongs to the call until then.

// slowCall is how long the latest call of an agent may have taken for the next
// to run on the client's goroutine; above, the agents of one fetch overlap.
const slowCall = time.Millisecond

// panicPause is how long an agent that has panicked is fenced, so that one that
// always does so cannot fill the log.
const panicPause = time.Second

// errLost is what unwinds a goroutine that has lost its client.
var errLost = errors.New("collector: the call was taken over")

// calls are what is known of the calls of an agent in this process.
type calls struct {
	turns  chan struct{} // holds one for each call in progress
	stuck  atomic.Int32  // calls in progress that were taken over
	took   atomic.Int64  // nanoseconds of the latest call
	paused atomic.Int64  // until when it is fenced after a panic, nanoseconds since the Server began
}

// enter waits for a turn with the agent; of too many calls at once those that
// are over the number wait, and give up at the deadline. When all turns are held
// by calls that do not return, the agent is fenced until one does. It reports
// whether it has waited: then the caller's idea of the time is old.
func (s *Server) enter(ctx context.Context, a *agent, deadline time.Time) (waited bool, err error) {
	if p := a.calls.paused.Load(); p != 0 && s.clock() < p {
		return false, pdu.ErrPMDAFenced
	}
	select {
	case a.calls.turns <- struct{}{}:
		return false, a.remains()
	default:
	}
	if int(a.calls.stuck.Load()) >= cap(a.calls.turns) {
		return false, pdu.ErrPMDAFenced
	}
	var expired <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		expired = t.C
	}
	select {
	case a.calls.turns <- struct{}{}:
		return true, a.remains()
	case <-expired:
		return true, pdu.ErrTimeout
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// remains gives a turn back if the agent was dropped before it came.
func (a *agent) remains() error {
	if !a.dropped.Load() {
		return nil
	}
	<-a.calls.turns
	return pdu.ErrNoAgent
}

// since is when t is, in nanoseconds since the Server began; never 0.
func (s *Server) since(t time.Time) int64 { return int64(t.Sub(s.started)) + 1 }

// clock is the present time in the same terms.
func (s *Server) clock() int64 { return s.since(time.Now()) }

// call runs f, a call of an agent's method, for the client. The error is errLost
// if the client was taken over meanwhile: the caller must unwind and touch
// nothing that is the client's.
func (c *client) call(a *agent, h pmda.Handler, what string, f func()) error {
	s := c.s
	if a.handler == nil {
		if c.extended {
			return pdu.ErrTimeout // in so little time it might owe the answer, to the harm of others
		}
		err := s.protect(a, h, what, f) // a Remote keeps its deadlines
		c.now = time.Now()
		return err
	}
	if c.late() {
		return pdu.ErrTimeout // or a call would be overdue as soon as it begins
	}
	waited, err := s.enter(c.ctx, a, c.deadline)
	if waited {
		c.now = time.Now()
	}
	if err != nil {
		return err
	}
	// No two calls of a client have the same number, so that the swap cannot mix
	// them up.
	began := max(c.asked, c.last+1)
	c.last, c.callee = began, a
	start := c.now
	late := s.since(start)-c.asked > int64(lateCall)
	c.inCall.Store(began) // from here on the client may be another goroutine's
	if late {
		s.hurryWatch()
	}
	err = s.protect(a, h, what, f)
	end := time.Now()
	took := end.Sub(start)
	a.calls.took.Store(int64(took))
	mine := c.inCall.CompareAndSwap(began, 0)
	if !mine {
		a.calls.stuck.Add(-1)
		s.Logger.Info("agent returned from an overdue request", a.attrs(slog.String("request", what), slog.Duration("after", took))...)
	}
	<-a.calls.turns
	if !mine {
		return errLost
	}
	c.now = end
	return err
}

// protect runs a call of an agent's method and makes an error of a panic.
func (s *Server) protect(a *agent, h pmda.Handler, what string, f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(a, h, what, p)
			err = pdu.ErrGeneric
		}
	}()
	f()
	return nil
}

// panicked logs a panic of an agent, and fences it for a while. One that is fenced
// is only asked for its names, which is not worth another line.
func (s *Server) panicked(a *agent, h pmda.Handler, what string, p any) {
	if a != nil {
		now := s.clock()
		if now < a.calls.paused.Load() {
			return
		}
		a.calls.paused.Store(now + int64(panicPause))
	}
	i := h.Info()
	s.Logger.Error("agent panicked", slog.String("agent", i.Name), slog.Int("domain", int(i.Domain)),
		slog.String("request", what), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

// guard asks an agent for something other than values.
func guard[T any](c *client, a *agent, what string, ask func(ctx context.Context, h pmda.Handler) (T, error)) (T, error) {
	h, err := a.ask()
	if err != nil {
		var none T
		return none, err
	}
	return guardOf(c, a, h, what, ask)
}

// guardOf is guard with a Handler that the caller has found.
func guardOf[T any](c *client, a *agent, h pmda.Handler, what string, ask func(ctx context.Context, h pmda.Handler) (T, error)) (T, error) {
	// What the call writes to is its own, so that a call that is lost writes to
	// nothing that anybody reads.
	var got struct {
		v   T
		err error
	}
	ctx := c.ctx // a lost call must not look at the client's
	if err := c.call(a, h, what, func() { got.v, got.err = ask(ctx, h) }); err != nil {
		var none T
		return none, err
	}
	if got.err != nil {
		// A code, so that an agent's broken connection is not taken for the client's.
		return got.v, failure(got.err)
	}
	return got.v, nil
}

// watch takes over calls that are overdue, until all clients have gone. It looks
// when the oldest call in progress will be overdue: those to come are later.
func (s *Server) watch() {
	defer close(s.watched)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.hurry:
		case <-s.unwatch:
			return
		}
		if limit := s.timeout.Load(); limit > 0 {
			timer.Reset(time.Duration(s.takeOverdue(limit)))
		}
	}
}

// takeOverdue takes over calls that have taken limit, and returns how long it is
// until others may have.
func (s *Server) takeOverdue(limit int64) (wait int64) {
	now := s.clock()
	oldest := now
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients.all() {
		switch began := c.inCall.Load(); {
		case began == 0:
		case began <= now-limit:
			s.takeOver(c, began)
		default:
			oldest = min(oldest, began)
		}
	}
	return oldest + limit - s.clock()
}

// lateCall is how long a request may have been in progress when an agent is called
// for it, for the watchdog to look at the right time all the same, or a little
// later.
const lateCall = 10 * time.Millisecond

// hurryWatch makes the watchdog look now: a call is due sooner than it thinks.
func (s *Server) hurryWatch() {
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// takeOver gives a client to another goroutine, unless the call has returned.
func (s *Server) takeOver(c *client, began int64) {
	s.wg.Add(1) // while the other goroutine counts for certain, so that Close waits for both
	if !c.inCall.CompareAndSwap(began, 0) {
		s.wg.Done()
		return
	}
	a, x, rest := c.callee, c.current, c.rest // from here on the other goroutine leaves them alone
	go func() {
		defer s.wg.Done()
		s.timedOut(c, a) // here, since a log may be slow
		c.resume(x, rest)
	}()
}

// timedOut counts a call that does not return.
func (s *Server) timedOut(c *client, a *agent) {
	client := slog.Uint64("client", c.info.Load().Seq)
	if n := a.calls.stuck.Add(1); int(n) == cap(a.calls.turns) {
		s.Logger.Error("agent timed out; it is fenced until a call returns", a.attrs(client, slog.Int("calls", int(n)))...)
	} else {
		s.Logger.Warn("agent timed out", a.attrs(client)...)
	}
}

// resume serves a client on from a request whose agent is overdue: a fetch and a
// store go on with the other agents, anything else fails.
func (c *client) resume(x *exchange, rest func() error) {
	c.now = time.Now()
	var err error
	switch {
	case x != nil:
		err = c.complete(c.inherit(x))
	case rest != nil:
		c.renew()
		err = rest()
	default:
		c.renew()
		err = pdu.ErrTimeout
	}
	if err = c.settle(err); err == nil {
		err = c.loop()
	}
	c.conclude(err)
}
