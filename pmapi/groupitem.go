package pmapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

// An Item has one value of a Group, as a T. Add makes it.
type Item[T pdu.Scalar] struct {
	groupMetric
	conv  converter[T]
	at    time.Time // of the value before, for rates
	last  difference.Sample
	index int // where the value was
	seen  bool
	value T
}

// Add adds one value to a group: the value of a metric without instances, or of the instance that
// the option Instance selects. Add makes no request. If the metric is misspelt or does not fit,
// the Value and Err of the item return the error after the first Fetch.
//
// Values become a T as follows. Everything else is pdu.ErrType.
//
//	metric      T           value
//	number      number      as pdu.As converts it, with pdu.ErrTrunc and pdu.ErrSign
//	number      string      its text: of a FLOAT with 10 digits, of a DOUBLE and a rate with 18
//	string      number      the number in the text, if the whole text is a number
//	string      string      the text
//	aggregate   []byte      the bytes, which the caller may keep, but must not change
//
// T is int32, uint32, int64, uint64, float32, float64, string, []byte, or a type defined as one of
// these, such as time.Duration (see pdu.Scalar). The types int and uint are not allowed because
// their size varies. Rates, and values that Scale converts, are floating point numbers before they
// become a T.
//
// If T is time.Duration, a metric in any unit of time becomes a duration: exactly if it is an
// integer, else rounded to nanoseconds. Durations beyond 292 years are pdu.ErrTrunc. A number
// without units counts nanoseconds, and other units are pdu.ErrConv. The rate of a counter of time
// is a duration per second. Units of time in Scale have no effect.
//
// The counterpart of pmExtendFetchGroup_item(3), which refuses aggregates.
func Add[T pdu.Scalar](g *Group, metric string, opts ...ItemOption) *Item[T] {
	i := new(Item[T])
	add[T](g, i, metric, "", opts)
	return i
}

// Value returns the value of the latest Fetch, or an error if the item has no value (see Group).
func (i *Item[T]) Value() (T, error) {
	if i.why != nil || i.code != 0 {
		var none T
		return none, i.err()
	}
	return i.value, nil
}

// Err returns the error of Value: why there is no value after the latest Fetch.
func (i *Item[T]) Err() error { return i.err() }

func (i *Item[T]) setDesc(d, _ pdu.Desc) error {
	if err := i.findInstance(); err != nil {
		return err
	}
	return i.conv.setDesc(d, &i.opts)
}

func (i *Item[T]) resetRates() { i.last, i.seen = difference.Sample{}, false }

func (i *Item[T]) setValues(_ context.Context, s pdu.ValueSet) error {
	if i.hasFailed(s) {
		i.setMissing(s)
		i.last.OK = false
		return nil
	}
	index, ok := i.selectValue(s, i.index)
	if !ok {
		switch {
		case i.keepsValues(s) && i.seen:
			i.setCode(0)
		case s.Len() == 0:
			i.last.OK = false
		default:
			i.resetRates()
		}
		return nil
	}
	now := i.g.result.Time
	i.index = index
	i.code = i.conv.convert(&i.value, s.Atom(index, i.desc.Type), &i.last, i.g.step(i.at))
	i.misfit = i.code != 0
	i.at = now
	i.seen = i.seen || i.code == 0
	return nil
}
