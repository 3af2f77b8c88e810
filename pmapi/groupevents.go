package pmapi

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

// An Events has the values of one field of event records of a Group, each as a T: of those
// records that the latest Fetch has returned.
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

// AddEvents adds one field of event records to a group. The records are the values of a
// metric; field is the name of a metric among the parameters of each record. "event.flags" and
// "event.missed" are fields too: those that pdu.EventRecord.Values has of the records themselves.
//
// A metric with instances needs the option Instance. Values are converted as Add does it, and
// Scale is about the field. There are no rates: a field that is a counter needs the option
// Scale, or is pdu.ErrConv. A metric without event records is pdu.ErrType.
//
// A collector sends each record to a client once: if anything else on the same context
// fetches the metric, it gets records that are then missing here. The counterpart of
// pmExtendFetchGroup_event(3).
func AddEvents[T pdu.Scalar](g *Group, metric, field string, opts ...ItemOption) *Events[T] {
	e := new(Events[T])
	add[T](g, e, metric, field, opts)
	return e
}

// Err is why the latest Fetch failed to return event records; nil if the metric had no records.
func (e *Events[T]) Err() error { return e.err() }

// Len is the number of values of the field in all records; 0 if Err is not nil.
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
		err := error(r.code)
		if isMisfit(r.code) {
			err = misfit(e.fieldDesc.Type, e.to, r.code)
		}
		return r.at, none, e.g.c.fail("fetch", e.field, err)
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
