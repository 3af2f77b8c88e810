package pmdatest

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Client slots for events. No other rule uses them for fetches.
const eventSlot = 40

// checkEvents reads event arrays, and the events that the functions of Events generate.
func (c *checker) checkEvents() {
	r := request(eventSlot, nil)
	for _, m := range c.metrics {
		if !isEvent(m.desc.Type) {
			continue
		}
		first := c.readEvents(r, m)
		second := c.readEvents(r, m)
		for inst, records := range first {
			c.checkRepeated(m, inst, records, second[inst])
		}
	}
	c.h.EndClient(r.Client)
	for _, s := range c.events {
		c.checkDelivery(s)
	}
}

func isEvent(t pdu.Type) bool { return t == pdu.TypeEvent || t == pdu.TypeHighResEvent }

// readEvents fetches the events of a metric for a client. It returns them by instance.
func (c *checker) readEvents(r *pmda.Request, m metric) map[pdu.InstID][]pdu.EventRecord {
	all := map[pdu.InstID][]pdu.EventRecord{}
	result, _ := c.fetchFor(r, []pdu.PMID{m.desc.PMID})
	if result == nil {
		return all
	}
	c.checkSet(m, result.At(0), nil)
	for inst, a := range result.At(0).All(m.desc.Type) {
		records, err := a.Events()
		if err != nil {
			continue // checkSet has reported it
		}
		for e := range records.All() {
			c.checkEvent(m, inst, e)
			all[inst] = append(all[inst], e)
		}
		c.checkOrder(m, inst, all[inst])
	}
	return all
}

// checkEvent checks a record and its parameters.
func (c *checker) checkEvent(m metric, inst pdu.InstID, e pdu.EventRecord) {
	const known = pdu.EventPoint | pdu.EventStart | pdu.EventEnd | pdu.EventID | pdu.EventParent | pdu.EventMissed
	fault := func(format string, args ...any) {
		c.errorf("%s: Fetch: an event of instance %d: %s", m.name, inst, fmt.Sprintf(format, args...))
	}
	if e.Flags&^known != 0 {
		fault("no flag has the bits %#x", uint32(e.Flags&^known))
	}
	if e.Flags == pdu.EventMissed && e.Missed == 0 {
		fault("a record of 0 missed events: leave it out")
	}
	need := 0
	switch {
	case e.Flags&pdu.EventParent != 0:
		need = 2
	case e.Flags&pdu.EventID != 0:
		need = 1
	}
	if e.NumParams() < need {
		fault("flags %v with %d parameters, want %d that identify it", e.Flags, e.NumParams(), need)
	}
	for id, a := range e.Params() {
		if p := (param{id, a.Type}); !c.params[p] {
			c.params[p] = true
			c.checkParam(fault, p)
		}
	}
}

// A param is the metric and the type of an event parameter.
type param struct {
	id  pdu.PMID
	typ pdu.Type
}

// checkParam compares a parameter with the descriptor of its metric.
func (c *checker) checkParam(fault func(format string, args ...any), p param) {
	if p.id.Domain() != c.info.Domain {
		fault("parameter %v is not of the agent's domain %d", p.id, c.info.Domain)
		return
	}
	d, err := c.h.Desc(c.ctx, request(eventSlot, nil), p.id)
	switch {
	case err == errReported:
	case err != nil:
		fault("parameter %v has no descriptor: Desc: %s: register a metric for it", p.id, errorText(err))
	case !sameType(p.typ, d.Type):
		fault("parameter %s has type %v, its descriptor %v", c.h.nameOf(p.id), p.typ, d.Type)
	case d.InDom != pdu.NoInDom:
		fault("parameter %s: its descriptor has an instance domain: parameters are singular", c.h.nameOf(p.id))
	case c.nameOf[p.id] == "":
		fault("parameter %v has no name, by which tools show it", p.id)
	}
}

// sameType reports whether a value of type t may belong to a metric of type want.
func sameType(t, want pdu.Type) bool {
	static := t == pdu.TypeAggregateStatic || t == pdu.TypeAggregate
	return t == want || static && (want == pdu.TypeAggregateStatic || want == pdu.TypeAggregate)
}

// checkOrder checks that events are in the order of time. It skips records of missed events, which
// have the time of the fetch.
func (c *checker) checkOrder(m metric, inst pdu.InstID, events []pdu.EventRecord) {
	var last time.Time
	for _, e := range events {
		if e.Flags == pdu.EventMissed || e.Time.IsZero() {
			continue
		}
		if e.Time.Before(last) {
			c.errorf("%s: Fetch: events of instance %d out of order: %v after %v", m.name, inst, e.Time.UTC(), last.UTC())
			return
		}
		last = e.Time
	}
}

// checkRepeated reports a failure if the second fetch of a client begins with the events of the
// first.
func (c *checker) checkRepeated(m metric, inst pdu.InstID, first, second []pdu.EventRecord) {
	n := len(first)
	if n == 0 || len(second) < n || first[0].Time.IsZero() {
		return
	}
	if slices.EqualFunc(first, second[:n], sameEvent) {
		c.errorf("%s: Fetch: instance %d: the second fetch of a client has the %d events of the first again: each is delivered once", m.name, inst, n)
	}
}

// sameEvent reports whether records have the same time, flags and parameters.
func sameEvent(a, b pdu.EventRecord) bool {
	return a.Time.Equal(b.Time) && a.Flags == b.Flags && slices.Equal(paramTexts(a), paramTexts(b))
}

func paramTexts(e pdu.EventRecord) (texts []string) {
	for id, a := range e.Params() {
		texts = append(texts, fmt.Sprintf("%v %v %q", id, a.Type, a.String()))
	}
	return texts
}

// A delivery is a client that fetches the events of one metric.
type delivery struct {
	c    *checker
	m    metric
	r    *pmda.Request
	name string
}

// fetch fetches until there are no more events. It returns how many events the client got and how
// many it missed.
func (d delivery) fetch() (got, missed int) {
	const most = 1000 // in case the events never end
	for range most {
		n := 0
		for _, events := range d.c.readEvents(d.r, d.m) {
			for _, e := range events {
				n++
				if e.Flags == pdu.EventMissed {
					missed += e.Missed
				} else {
					got++
				}
			}
		}
		if n == 0 {
			break
		}
	}
	return got, missed
}

// want fetches, and checks that the client gets n events. If mayMiss, it may miss some of them.
func (d delivery) want(n int, mayMiss bool) {
	got, missed := d.fetch()
	switch {
	case got+missed > n:
		d.c.errorf("%s: Fetch: of %d events %s gets %d, and a count of %d missed: some are delivered or counted twice", d.m.name, n, d.name, got, missed)
	case got+missed < n:
		d.c.errorf("%s: Fetch: of %d events %s gets %d, and a count of %d missed: some are neither delivered nor counted", d.m.name, n, d.name, got, missed)
	case missed > 0 && !mayMiss:
		d.c.errorf("%s: Fetch: of %d events %s gets %d, and has missed %d: a queue has room for so few", d.m.name, n, d.name, got, missed)
	}
}

// checkDelivery generates events, and counts those that clients of different speed get.
func (c *checker) checkDelivery(s eventSource) {
	at := slices.IndexFunc(c.metrics, func(m metric) bool { return m.name == s.metric })
	if at < 0 || !isEvent(c.metrics[at].desc.Type) {
		c.errorf("%s: no metric of a type of events has that name, which Events gives", s.metric)
		return
	}
	client := func(slot uint32, name string) delivery {
		d := delivery{c, c.metrics[at], request(slot, nil), name}
		for _, e := range s.enable {
			if err := c.storeOf(e, d.r); err != nil {
				c.errorf("%s: Store(%q) of a client that wants events: %s", e.Metric, e.Value, errorText(err))
			}
		}
		d.fetch() // the client gets events from now on
		return d
	}
	fast, slow := client(eventSlot, "a client"), client(eventSlot+1, "another client")
	s.emit(3)
	fast.want(3, false)
	fast.want(0, false)
	slow.want(3, false)
	for range 3 {
		s.emit(2)
		fast.want(2, false)
	}
	slow.want(6, false)

	const many = 20000 // more than a queue is likely to hold
	s.emit(many)
	fast.want(many, true)
	s.emit(1)
	slow.want(many+1, true)
	fast.want(1, false)

	c.h.EndClient(fast.r.Client)
	s.emit(2)
	slow.want(2, false)
	c.h.EndClient(slow.r.Client)
}
