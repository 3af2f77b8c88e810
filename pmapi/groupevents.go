package pmapi

import (
	"context"
	"iter"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An Events is one field of the event records of a metric of a Group, each as a T:
// of those records that the latest Fetch brought.
type Events[T pdu.Scalar] struct {
	groupMetric
	conv  converter[T]
	index int // where the value was
	rows  []event[T]
}

// eventFields are fields of which the collector need not know.
var eventFields = map[string]pdu.Desc{
	pdu.EventFlagsName:  {PMID: pdu.EventFlagsPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete},
	pdu.EventMissedName: {PMID: pdu.EventMissedPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete},
}

// An event is the field of one record.
type event[T pdu.Scalar] struct {
	at    time.Time
	code  pdu.Error
	value T
}

// AddEvents enters a field of event records into a group: the parameters of a
// metric's records that are values of the metric field, or what pdu.EventRecord.Values says of
// the records themselves, "event.flags" and "event.missed". Metrics with instances
// need the option Instance. For conversions see Add: Scale is about the field. There
// are no rates, so that a field that is a counter needs a Scale: pdu.ErrConv. A metric
// without event records is pdu.ErrType.
//
// A collector gives a client each record once: a context on which others fetch the
// same metric misses what they get. The counterpart of
// pmExtendFetchGroup_event(3).
func AddEvents[T pdu.Scalar](g *Group, metric, field string, opts ...ItemOption) *Events[T] {
	e := new(Events[T])
	g.add(e, metric, field, opts)
	return e
}

// Err is why the latest Fetch could not bring records; nil if it could, and also if
// there were none.
func (e *Events[T]) Err() error { return e.err() }

// Len is how often the field was in the records; 0 if Err is not nil.
func (e *Events[T]) Len() int {
	if e.why != nil || e.code != 0 {
		return 0
	}
	return len(e.rows)
}

// At is the time of the record with the field at an index below Len, in the order of
// the records, with the value or why it does not convert.
func (e *Events[T]) At(i int) (time.Time, T, error) {
	r := &e.rows[:e.Len()][i]
	if r.code != 0 {
		var none T
		return r.at, none, e.g.c.fail("fetch", e.field, r.code)
	}
	return r.at, r.value, nil
}

// All yields the values that have converted, with the times of their records.
func (e *Events[T]) All() iter.Seq2[time.Time, T] {
	return func(yield func(time.Time, T) bool) {
		for i := range e.Len() {
			if r := &e.rows[i]; r.code == 0 && !yield(r.at, r.value) {
				return
			}
		}
	}
}

func (e *Events[T]) accept(d, field pdu.Desc) error {
	if err := e.instance(); err != nil {
		return err
	}
	if d.Type != pdu.TypeEvent && d.Type != pdu.TypeHighResEvent {
		return pdu.ErrType
	}
	if err := e.conv.accept(field, &e.opts); err != nil {
		return err
	}
	if e.conv.conversion.rate {
		return pdu.ErrConv
	}
	return nil
}

func (e *Events[T]) forget() {}

func (e *Events[T]) take(_ context.Context, s pdu.ValueSet) error {
	old := len(e.rows)
	e.rows = e.rows[:0]
	if e.unavailable(s) && s.Err() != nil {
		return nil
	}
	e.code = 0
	index, ok := find(s, e.inst, e.index)
	if !ok {
		return nil // there are none at present
	}
	e.index = index
	records, err := s.Atom(index, e.desc.Type).Events()
	if err != nil {
		e.code = pdu.FromError(err)
		return nil
	}
	for r := range records.All() {
		for id, a := range r.Values() {
			if id == e.fieldDesc.PMID {
				e.put(r.Time, a)
			}
		}
	}
	clear(e.rows[len(e.rows):max(old, len(e.rows))])
	return nil
}

// put adds a value.
func (e *Events[T]) put(at time.Time, a pdu.Atom) {
	if len(e.rows) < cap(e.rows) {
		e.rows = e.rows[:len(e.rows)+1]
	} else {
		e.rows = append(e.rows, event[T]{})
	}
	r := &e.rows[len(e.rows)-1]
	r.at = at
	var none sample
	r.code = e.conv.convert(&r.value, a, &none, 0)
}
