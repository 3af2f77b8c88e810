package pmapi

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

// An Events has the values of one field of event records, each as a T. The records are those that
// the latest Fetch of its Group returned.
type Events[T pdu.Scalar] struct {
	groupMetric
	conv  converter[T]
	index int // where the value was
	rows  []event[T]
}

// An event is the field of one record.
type event[T pdu.Scalar] struct {
	at    time.Time
	code  pdu.Error
	value T
}

// AddEvents adds one field of event records to a group. The records are the values of metric; field
// is the name of another metric, which is a parameter of the records. "event.flags" and
// "event.missed" are fields too, as in pdu.EventRecord.Values.
//
// A metric with instances needs the option Instance. Values are converted as by Add, and Scale
// applies to the field. There are no rates: a counter without an option such as Scale("instant") is
// pdu.ErrConv. A metric without event records is pdu.ErrType.
//
// A collector sends each record to a client once: if another request on the same context fetches
// the metric, the records of its reply are missing here. The counterpart of
// pmExtendFetchGroup_event(3).
func AddEvents[T pdu.Scalar](g *Group, metric, field string, opts ...ItemOption) *Events[T] {
	e := new(Events[T])
	add[T](g, e, metric, field, opts)
	return e
}

// Err returns why the latest Fetch failed for the metric. It is nil if the metric just had no
// records.
func (e *Events[T]) Err() error { return e.err() }

// Len returns the number of values of the field in all records, 0 if Err is not nil.
func (e *Events[T]) Len() int {
	if e.why != nil || e.code != 0 {
		return 0
	}
	return len(e.rows)
}

// At returns value i of the field, below Len and in the order of the records, with the time of its
// record. The error says why the value does not convert.
func (e *Events[T]) At(i int) (time.Time, T, error) {
	r := &e.rows[:e.Len()][i]
	if r.code != 0 {
		var none T
		err := error(r.code)
		if isMisfit(r.code) {
			err = misfit(e.fieldDesc.Type, e.to, r.code)
		}
		return r.at, none, e.g.c.fail("fetch", e.field, err)
	}
	return r.at, r.value, nil
}

// All yields the values that convert to T, with the times of their records.
func (e *Events[T]) All() iter.Seq2[time.Time, T] {
	return func(yield func(time.Time, T) bool) {
		for i := range e.Len() {
			if r := &e.rows[i]; r.code == 0 && !yield(r.at, r.value) {
				return
			}
		}
	}
}

func (e *Events[T]) setDesc(d, field pdu.Desc) error {
	if err := e.findInstance(); err != nil {
		return err
	}
	if err := checkEvents(d); err != nil {
		return err
	}
	if err := e.conv.setDesc(field, &e.opts); err != nil {
		return err
	}
	if e.conv.conversion.rate {
		return fmt.Errorf("events have no rates: use Scale: %w", pdu.ErrConv)
	}
	return nil
}

func (e *Events[T]) resetRates() {}

func (e *Events[T]) setValues(_ context.Context, s pdu.ValueSet) error {
	old := len(e.rows)
	e.rows = e.rows[:0]
	if e.hasFailed(s) {
		e.setMissing(s)
		return nil
	}
	index, ok := e.selectValue(s, e.index)
	if !ok && e.noInst {
		return nil
	}
	e.setCode(0)
	if !ok {
		return nil // no records at present
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
	var none difference.Sample
	r.code = e.conv.convert(&r.value, a, &none, difference.Step{})
}
