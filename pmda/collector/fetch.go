package collector

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// An exchange is the memory of one fetch, kept for the next of any client.
type exchange struct {
	ask   pdu.Fetch
	req   pmda.Request
	parts []*part // one for each agent
	spare []*part // of earlier fetches
	next  []int   // which part has the answer, in the order of the client's PMIDs
	at    int     // the part that is asked on the client's goroutine
	late  bool    // an agent is overdue
	out   pdu.ResultWriter
}

// A part is what one agent is asked in a fetch, and its answer.
type part struct {
	domain pdu.Domain
	agent  *agent // nil if there is none
	ids    []pdu.PMID
	w      pdu.ResultWriter
	taken  int // sets merged

	// Of a part that is asked on a goroutine of its own:
	done  chan struct{} // closed when the answer is there; nil for the others
	state atomic.Int32  // who was first
}

// The states of a part that is asked on a goroutine of its own.
const (
	queued int32 = iota // for a turn with the agent
	asking
	answered
	abandoned // at the deadline, before its turn; the part belongs to its goroutine
	overdue   // at the deadline, in its turn; the same
)

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// keepMetrics is how many PMIDs, and keepBytes how many bytes of a result, an
// exchange may hold to be kept for the next.
const (
	keepMetrics = 1 << 12
	keepBytes   = 1 << 20
)

// latePart is how long agents that could not be asked in time, because of
// another one of the same fetch, may take.
const latePart = 50 * time.Millisecond

func (x *exchange) release() {
	size := x.out.Size()
	for _, p := range x.parts {
		size += p.w.Size()
	}
	if size > keepBytes || cap(x.ask.PMIDs) > keepMetrics {
		return
	}
	for _, p := range x.parts {
		p.agent, p.done = nil, nil
	}
	x.spare = append(x.spare, x.parts...)
	clear(x.parts)
	x.parts = x.parts[:0]
	x.req = pmda.Request{}
	exchanges.Put(x)
}

// fetch answers FETCH and HIGHRES_FETCH.
func (c *client) fetch(h pdu.Header, body []byte) error {
	x := exchanges.Get().(*exchange)
	if err := c.prepare(x, h, body); err != nil {
		x.release()
		return err
	}
	c.asked = c.s.since(c.now)
	c.overlap(x)
	return c.complete(x)
}

// overlap asks the agents that take time on goroutines of their own. The last of
// them is asked on the client's, which would only wait for it, but not if other
// agents are, too: the one that comes first would hold up the others and, if it
// does not return, take their time.
func (c *client) overlap(x *exchange) {
	var last *part
	others := false
	for _, p := range x.parts {
		if p.agent == nil {
			continue
		}
		if p.agent.handler != nil && p.agent.calls.took.Load() <= int64(slowCall) {
			others = true
			continue
		}
		if last != nil {
			c.askAside(x, last)
		}
		last = p
	}
	if last != nil && others {
		c.askAside(x, last)
	}
}

// prepare decodes a request and sorts it by agents.
func (c *client) prepare(x *exchange, h pdu.Header, body []byte) error {
	x.ask.HighRes = h.Kind == pdu.KindHighResFetch
	if err := x.ask.Decode(body); err != nil {
		return err
	}
	profile := c.profiles[x.ask.Context]
	switch {
	case profile == nil:
		return pdu.ErrNoProfile
	case len(x.ask.PMIDs) > c.s.MaxMetrics:
		return pdu.ErrTooBig
	}
	c.deadline = c.s.deadline(c.now)
	x.req = pmda.Request{Client: c.info.Load(), Context: x.ask.Context, Profile: profile, Deadline: c.deadline}
	x.split(c.s)
	return nil
}

// split sorts the PMIDs by domain.
func (x *exchange) split(s *Server) {
	agents := s.agents.Load()
	x.next, x.at, x.late = x.next[:0], 0, false
	for _, id := range x.ask.PMIDs {
		d := id.Domain()
		at := len(x.parts) - 1
		for at >= 0 && x.parts[at].domain != d {
			at--
		}
		if at < 0 {
			at = len(x.parts)
			p := x.newPart()
			p.domain, p.agent = d, agents.get(d)
			p.w.Limit = s.MaxReply
		}
		x.parts[at].ids = append(x.parts[at].ids, id)
		x.next = append(x.next, at)
	}
}

func (x *exchange) newPart() *part {
	var p *part
	if n := len(x.spare); n > 0 {
		p, x.spare = x.spare[n-1], x.spare[:n-1]
		p.ids, p.taken = p.ids[:0], 0
		p.w.Reset()
	} else {
		p = new(part)
	}
	x.parts = append(x.parts, p)
	return p
}

// complete asks the agents that have not been asked yet, waits for the others,
// and sends the result.
func (c *client) complete(x *exchange) error {
	c.current = x
	for ; x.at < len(x.parts); x.at++ {
		p := x.parts[x.at]
		if p.done != nil {
			continue
		}
		err := c.ask(p, &x.req)
		if err == errLost {
			return err
		}
		p.settle(err)
		if c.late() {
			c.extend(&x.req) // it may be this agent that has taken all the time
		}
	}
	c.current = nil
	waited := false
	for i, p := range x.parts {
		if p.done == nil {
			continue
		}
		waited = true
		if !c.await(p) {
			x.parts[i], x.late = p.overdue(), true
		}
	}
	if waited {
		c.now = time.Now()
	}
	if x.late {
		c.renew()
	}
	defer x.release()
	w := x.merge()
	c.s.heed(w.Changed)
	w.Changed = 0
	w.Time = c.now
	return c.sendResult(w, x.ask.HighRes)
}

// ask asks one agent on the client's goroutine.
func (c *client) ask(p *part, r *pmda.Request) error {
	if p.agent == nil {
		return pdu.ErrNoAgent
	}
	h, err := p.agent.ask()
	if err != nil {
		return err
	}
	var failed error
	ctx := c.ctx // a lost call must not look at the client's
	s := c.s
	err = c.call(p.agent, h, "fetch", func() { failed = h.Fetch(ctx, r, p.ids, &p.w) })
	switch err {
	case nil:
		return failed
	case errLost:
		s.heed(p.w.Changed) // the agent does not say it again
	}
	return err
}

// heed tells clients of what an agent says has changed, as far as that is for
// agents to say.
func (s *Server) heed(what pdu.Change) {
	if what &= pdu.ChangeLabels | pdu.ChangeNames; what != 0 {
		s.changes.note(what)
	}
}

// askAside asks one agent on a goroutine of its own.
func (c *client) askAside(x *exchange, p *part) {
	p.done = make(chan struct{})
	p.state.Store(queued)
	s, ctx, a, deadline := c.s, c.ctx, p.agent, c.deadline
	req := x.req // the call may outlive the exchange
	s.wg.Go(func() {
		p.settle(s.askApart(ctx, a, &req, p, deadline))
		if p.state.Swap(answered) == overdue {
			s.heed(p.w.Changed)
			a.calls.stuck.Add(-1)
			s.Logger.Info("agent returned from an overdue request", a.attrs(slog.String("request", "fetch"))...)
		}
		close(p.done)
	})
}

func (s *Server) askApart(ctx context.Context, a *agent, r *pmda.Request, p *part, deadline time.Time) error {
	h, err := a.ask()
	if err != nil {
		return err
	}
	if a.handler != nil {
		if _, err := s.enter(ctx, a, deadline); err != nil {
			return err
		}
		if !p.state.CompareAndSwap(queued, asking) {
			<-a.calls.turns
			return pdu.ErrTimeout // nobody waits for it any more
		}
		defer func(began int64) {
			a.calls.took.Store(s.clock() - began)
			<-a.calls.turns
		}(s.clock())
	}
	var failed error
	if err := s.protect(a, h, "fetch", func() { failed = h.Fetch(ctx, r, p.ids, &p.w) }); err != nil {
		return err
	}
	return failed
}

// await waits for a part that is asked on a goroutine of its own; false if the
// deadline comes first. A Remote keeps the deadline itself.
func (c *client) await(p *part) bool {
	if p.agent.handler == nil || c.deadline.IsZero() {
		<-p.done
		return true
	}
	t := time.NewTimer(time.Until(c.deadline))
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
	}
	switch {
	case p.state.CompareAndSwap(queued, abandoned):
		return false
	case p.state.CompareAndSwap(asking, overdue):
		c.s.timedOut(c, p.agent)
		return false
	}
	<-p.done // the goroutine is about to let go of the part
	return true
}

// overdue is an answer in the place of one that did not come.
func (p *part) overdue() *part {
	q := &part{domain: p.domain, agent: p.agent, ids: slices.Clone(p.ids)}
	q.settle(pdu.ErrTimeout)
	return q
}

// settle completes the answer of an agent: one set per PMID, whatever the agent
// has done.
func (p *part) settle(err error) {
	if err == nil && p.w.Holds(p.ids) {
		return
	}
	code := pdu.ErrPMID // other sets than asked for
	if err != nil {
		code = pdu.FromError(err)
	}
	changed := p.w.Changed
	p.w.Reset()
	p.w.Changed = changed
	for _, id := range p.ids {
		p.w.Begin(id)
		p.w.Fail(code)
	}
}

// inherit is what a goroutine that takes over goes on with: the answers that are
// there, a time-out for the agent that is overdue, and the agents that have not
// been asked, who get little time.
func (c *client) inherit(x *exchange) *exchange {
	y := &exchange{req: x.req, parts: slices.Clone(x.parts), next: slices.Clone(x.next), at: len(x.parts), late: true}
	y.ask = pdu.Fetch{HighRes: x.ask.HighRes, Context: x.ask.Context, PMIDs: slices.Clone(x.ask.PMIDs)}
	y.parts[x.at] = x.parts[x.at].overdue()
	c.extend(&y.req)
	for _, p := range y.parts[x.at+1:] {
		switch {
		case p.done != nil:
		case p.agent == nil:
			p.settle(pdu.ErrNoAgent)
		default:
			c.askAside(y, p)
		}
	}
	return y
}

// extend gives the agents that have not been asked yet a little time.
func (c *client) extend(r *pmda.Request) {
	c.deadline, c.extended = c.now.Add(latePart), true
	r.Deadline = c.deadline
	c.asked = c.s.since(c.deadline) - c.s.timeout.Load() // for the watchdog
}

// merge puts the parts together in the client's order. That of one agent alone
// is the result.
func (x *exchange) merge() *pdu.ResultWriter {
	if len(x.parts) == 1 {
		return &x.parts[0].w
	}
	x.out.Reset()
	for i := 0; i < len(x.next); {
		at, n := x.next[i], 1
		for i+n < len(x.next) && x.next[i+n] == at {
			n++
		}
		p := x.parts[at]
		x.out.CopySets(&p.w, p.taken, p.taken+n)
		p.taken += n
		i += n
	}
	for _, p := range x.parts {
		x.out.Changed |= p.w.Changed
	}
	return &x.out
}

// sendResult sends what has changed, and the result. Large results in memory at
// one time are limited: one too many has to be asked for again.
func (c *client) sendResult(w *pdu.ResultWriter, highRes bool) error {
	size := int64(w.Size())
	if size > int64(c.s.MaxReply) {
		return pdu.ErrTooBig
	}
	if size > keepBytes {
		defer c.s.flight.Add(-size)
		if c.s.flight.Add(size) > int64(c.s.MaxInFlight) {
			return pdu.ErrAgain
		}
	}
	if ch := c.s.changes.since(&c.seen); ch != 0 {
		if err := c.pdus.Queue(0, pdu.Status{Code: pdu.Error(ch)}); err != nil {
			return err
		}
	}
	f := pdu.FormatLowRes
	if highRes {
		f = pdu.FormatHighRes
	}
	return c.reply(w.PDU(f))
}
