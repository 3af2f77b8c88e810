package collector

import (
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// An exchange is the memory of one fetch, kept for the next of any client.
type exchange struct {
	ask   pdu.Fetch
	req   pmda.Request
	parts []part
	next  []int // which part has the answer, in the order of the client's PMIDs
	out   pdu.ResultWriter
}

// A part is what one agent is asked in a fetch, and its answer.
type part struct {
	domain pdu.Domain
	ids    []pdu.PMID
	w      pdu.ResultWriter
	taken  int // sets merged
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// keepMetrics is how many PMIDs, and keepBytes how many bytes of a result, an
// exchange may hold to be kept for the next.
const (
	keepMetrics = 1 << 12
	keepBytes   = 1 << 20
)

func (x *exchange) release() {
	size := x.out.Size()
	for i := range x.parts {
		size += x.parts[i].w.Size()
	}
	if size > keepBytes || cap(x.ask.PMIDs) > keepMetrics {
		return
	}
	x.req = pmda.Request{}
	exchanges.Put(x)
}

// fetch answers FETCH and HIGHRES_FETCH.
func (c *client) fetch(h pdu.Header, body []byte) error {
	x := exchanges.Get().(*exchange)
	defer x.release()
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
	x.req = pmda.Request{Client: c.info.Load(), Context: x.ask.Context, Profile: profile, Deadline: c.s.deadline()}
	w := c.collect(x)
	if w.Changed != 0 {
		c.s.changes.note(w.Changed)
		w.Changed = 0
	}
	w.Time = time.Now()
	return c.sendResult(w, x.ask.HighRes)
}

// sendResult sends what has changed, and the result.
func (c *client) sendResult(w *pdu.ResultWriter, highRes bool) error {
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

// collect asks the agents. The answer of one agent alone needs no merging.
func (c *client) collect(x *exchange) *pdu.ResultWriter {
	agents := c.s.agents.Load()
	ids := x.ask.PMIDs
	if d := ids[0].Domain(); oneDomain(ids, d) {
		x.out.Reset()
		c.s.fetchFrom(c.ctx, agents.get(d), &x.req, ids, &x.out)
		return &x.out
	}
	x.split()
	var wg sync.WaitGroup
	for i := range x.parts {
		p := &x.parts[i]
		a := agents.get(p.domain)
		if a != nil && a.handler == nil {
			wg.Go(func() { c.s.fetchFrom(c.ctx, a, &x.req, p.ids, &p.w) })
		}
	}
	for i := range x.parts {
		p := &x.parts[i]
		if a := agents.get(p.domain); a == nil || a.handler != nil {
			c.s.fetchFrom(c.ctx, a, &x.req, p.ids, &p.w)
		}
	}
	wg.Wait()
	return x.merge()
}

func oneDomain(ids []pdu.PMID, d pdu.Domain) bool {
	for _, id := range ids {
		if id.Domain() != d {
			return false
		}
	}
	return true
}

// split sorts the PMIDs by domain.
func (x *exchange) split() {
	x.next = x.next[:0]
	used := x.parts[:0]
	for _, id := range x.ask.PMIDs {
		d, at := id.Domain(), -1
		for i := range used {
			if used[i].domain == d {
				at = i
				break
			}
		}
		if at < 0 {
			at = len(used)
			if at < cap(used) {
				used = used[:at+1] // with its memory
			} else {
				used = append(used, part{})
			}
			p := &used[at]
			p.domain, p.ids, p.taken = d, p.ids[:0], 0
			p.w.Reset()
		}
		used[at].ids = append(used[at].ids, id)
		x.next = append(x.next, at)
	}
	x.parts = used
}

// merge puts the parts together in the client's order.
func (x *exchange) merge() *pdu.ResultWriter {
	x.out.Reset()
	for i := 0; i < len(x.next); {
		at, n := x.next[i], 1
		for i+n < len(x.next) && x.next[i+n] == at {
			n++
		}
		p := &x.parts[at]
		x.out.CopySets(&p.w, p.taken, p.taken+n)
		p.taken += n
		i += n
	}
	for i := range x.parts {
		x.out.Changed |= x.parts[i].w.Changed
	}
	return &x.out
}
