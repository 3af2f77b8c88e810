package pmapitest

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Events is a metric of event records of a Source. Each fetch of the metric returns the records
// that its context has not fetched yet, from the time of its connection on.
type Events struct {
	// Metric is the metric, for its names, errors and labels. Do not set its values.
	Metric *Metric[pdu.Atom]
	q      *eventQueue
}

// A Param is a parameter of an event record. Metric.Param makes one. If no metric has the PMID, the
// parameter has no name.
type Param struct {
	PMID  pdu.PMID
	Value pdu.Atom
}

// maxQueued limits the records that a metric keeps for contexts that have not fetched them. In
// place of earlier ones, such a context gets a record with the number of missed events.
const maxQueued = 1000

// An eventQueue holds the latest records of a metric. The lock of the source guards it.
type eventQueue struct {
	dropped int // number of earlier records
	list    []eventRecord
}

// An eventRecord is a record with its parameters, or with the number of missed events.
type eventRecord struct {
	at     time.Time
	flags  pdu.EventFlags
	missed int
	params []Param
}

func (q *eventQueue) len() int { return q.dropped + len(q.list) }

// AddEvents adds a metric of event records to a source. Its type is EVENT or HIGHRES_EVENT, the
// default. It panics like Add, and if d has an InDom or a Value.
//
//	user := pmapitest.Add(src, pmapitest.Metric[string]{Name: "login.user"})
//	logins := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "login.records"})
//	logins.Record(pdu.EventPoint, user.Param("ann"))
func AddEvents(s *Source, d Metric[pdu.Atom]) *Events {
	if d.Type == 0 {
		d.Type = pdu.TypeHighResEvent
	}
	if d.Type != pdu.TypeEvent && d.Type != pdu.TypeHighResEvent || d.InDom != nil || d.Value != nil {
		panic("pmapitest: " + d.Name + ": a metric of events has no other Type, no InDom and no Value")
	}
	e := &Events{Metric: Add(s, d), q: new(eventQueue)}
	e.Metric.change(0, func(m *metric) { m.events = e.q })
	return e
}

// Record adds a record with the current time of the source.
func (e *Events) Record(flags pdu.EventFlags, params ...Param) {
	e.RecordAt(time.Time{}, flags, params...)
}

// RecordAt adds a record with a time; zero means the current time of the source. It panics if the
// flags or a parameter are invalid.
func (e *Events) RecordAt(at time.Time, flags pdu.EventFlags, params ...Param) {
	e.add(eventRecord{at: at, flags: flags, params: append([]Param(nil), params...)})
}

// Missed adds a record that says that n events were missed. It panics if n is negative.
func (e *Events) Missed(n int) { e.add(eventRecord{flags: pdu.EventMissed, missed: n}) }

func (e *Events) add(r eventRecord) {
	e.Metric.change(0, func(m *metric) {
		if r.at.IsZero() {
			r.at = e.Metric.s.now()
		}
		var b pdu.EventBuilder
		if r.appendTo(&b); b.Err() != nil {
			panic("pmapitest: " + m.name + ": " + b.Err().Error())
		}
		q := e.q
		if q.list = append(q.list, r); len(q.list) > maxQueued {
			q.list, q.dropped = q.list[1:], q.dropped+1
		}
	})
}

func (r *eventRecord) appendTo(b *pdu.EventBuilder) {
	if r.flags == pdu.EventMissed {
		b.Missed(r.at, r.missed)
		return
	}
	b.Begin(r.at, r.flags)
	for _, p := range r.params {
		b.Param(p.PMID, p.Value)
	}
}

// Param returns v as a parameter of an event record, with the PMID of the metric.
func (m *Metric[T]) Param(v T) Param {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	return Param{m.m.desc.PMID, atomOf(v)}
}

// skipEvents skips earlier records for this connection. The caller holds the lock.
func (c *conn) skipEvents() {
	c.seen = map[*eventQueue]int{}
	for _, m := range c.s.metrics {
		if m.events != nil {
			c.seen[m.events] = m.events.len()
		}
	}
}

// takeEvents returns the records that the connection has not returned yet, as the value of m. The
// caller holds the lock.
func (c *conn) takeEvents(m *metric) (pdu.Atom, error) {
	q := m.events
	b := pdu.EventBuilder{HighRes: m.desc.Type == pdu.TypeHighResEvent}
	from := c.seen[q]
	if from < q.dropped {
		b.Missed(q.list[0].at, q.dropped-from)
		from = q.dropped
	}
	for i := range q.list[from-q.dropped:] {
		q.list[from-q.dropped+i].appendTo(&b)
	}
	c.seen[q] = q.len()
	return b.Atom()
}
