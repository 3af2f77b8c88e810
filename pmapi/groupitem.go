package pmapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An Item has one value of a Group, as a T.
type Item[T pdu.Scalar] struct {
	groupMetric
	conv  converter[T]
	at    time.Time // of the value before, for rates
	last  sample
	index int // where the value was
	seen  bool
	value T
}

// Add adds one value to a group: that of a singular metric, or of the instance that the
// option Instance selects. Values become a T as follows.
//
//	metric      T           value
//	number      number      as pdu.As converts it, with pdu.ErrTrunc and pdu.ErrSign
//	number      string      its text, with 18 digits if it is floating point
//	string      number      the number that the whole text is, or else pdu.ErrType
//	string      string      the text
//	aggregate   []byte      the bytes, which may be kept, but not changed
//
// All else is pdu.ErrType. Rates, and values that Scale converts, are floating point numbers
// before they become a T.
//
// The counterpart of pmExtendFetchGroup_item(3), which refuses aggregates.
func Add[T pdu.Scalar](g *Group, metric string, opts ...ItemOption) *Item[T] {
	i := new(Item[T])
	g.add(i, metric, "", opts)
	return i
}

// Value is the value after the latest Fetch, or why there is none (see Group).
func (i *Item[T]) Value() (T, error) {
	if i.why != nil || i.code != 0 {
		var none T
		return none, i.err()
	}
	return i.value, nil
}

func (i *Item[T]) setDesc(d, _ pdu.Desc) error {
	if err := i.findInstance(); err != nil {
		return err
	}
	return i.conv.setDesc(d, &i.opts)
}

func (i *Item[T]) resetRates() { i.last, i.seen = sample{}, false }

func (i *Item[T]) setValues(_ context.Context, s pdu.ValueSet) error {
	if i.keepsValues(s) && i.seen {
		i.code = 0
		return nil
	}
	if i.setMissing(s) {
		i.last.ok = false
		return nil
	}
	index, ok := indexOfInstance(s, i.inst, i.index)
	if !ok {
		i.code = pdu.ErrValue
		i.resetRates()
		return nil
	}
	now := i.g.result.Time
	i.index = index
	i.code = i.conv.convert(&i.value, s.Atom(index, i.desc.Type), &i.last, now.Sub(i.at))
	i.at = now
	i.seen = i.seen || i.code == 0
	return nil
}
