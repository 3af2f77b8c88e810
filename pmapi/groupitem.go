package pmapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An Item is one value of a Group, as a T.
type Item[T pdu.Scalar] struct {
	groupMetric
	conv  converter[T]
	at    time.Time // of the value before, for rates
	last  sample
	index int // where the value was
	seen  bool
	value T
}

// Add enters one value into a group: that of a singular metric, or of the instance
// that the option Instance names.
//
// Numbers become a T of a number as pdu.As says, with its pdu.ErrTrunc and
// pdu.ErrSign; rates and what Scale converts do so as floating point numbers. A T
// of a string takes every number, with 18 digits if it is floating point, and every
// string. A string becomes a number if it is one as a whole, or else is pdu.ErrType.
// Aggregates become byte slices alone, and nothing else does; they may be kept, but
// not changed.
//
// The counterpart of pmExtendFetchGroup_item(3), which refuses aggregates.
func Add[T pdu.Scalar](g *Group, metric string, opts ...ItemOption) *Item[T] {
	i := new(Item[T])
	g.add(i, metric, "", opts)
	return i
}

// Value is the value that the latest Fetch brought, or why there is none: see
// Group.
func (i *Item[T]) Value() (T, error) {
	if i.why != nil || i.code != 0 {
		var none T
		return none, i.err()
	}
	return i.value, nil
}

func (i *Item[T]) accept(d, _ pdu.Desc) error {
	if err := i.instance(); err != nil {
		return err
	}
	return i.conv.accept(d, &i.opts)
}

func (i *Item[T]) forget() { i.last, i.seen = sample{}, false }

func (i *Item[T]) take(_ context.Context, s pdu.ValueSet) error {
	if i.keeps(s) && i.seen {
		i.code = 0
		return nil
	}
	if i.unavailable(s) {
		i.last.ok = false
		return nil
	}
	index, ok := find(s, i.inst, i.index)
	if !ok {
		i.code = pdu.ErrValue
		i.forget()
		return nil
	}
	now := i.g.result.Time
	i.index = index
	i.code = i.conv.convert(&i.value, s.Atom(index, i.desc.Type), &i.last, now.Sub(i.at))
	i.at = now
	i.seen = i.seen || i.code == 0
	return nil
}
