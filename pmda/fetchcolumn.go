package pmda

import (
	"context"
	"math"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// A column collects the numbers of many instances, because it is faster to write them at once. It
// comes from a pool. On the stack of a client's goroutine, it would grow the stacks of thousands of
// clients.
type column struct {
	ids  [columnLen]pdu.InstID
	bits [columnLen]uint64 // as for ResultWriter.Numbers
}

// columnLen is the number of values that are written at once. It is small enough for the
// processor's cache.
const columnLen = 256

var columns = sync.Pool{New: func() any { return new(column) }}

// A collector calls a metric's Value for the instances of list up to the first error, and returns
// the number of values. ids and bits must have room for the whole list. column.fill does the rest,
// so that the loop of a collector has few variables.
type collector func(ctx context.Context, r *Request, list []pdu.Instance, ids []pdu.InstID, bits []uint64) (int, error)

// fetchColumn returns a function that calls value for every instance that the client wants, and
// writes the numbers in columns. It returns nil if the values are not numbers.
func fetchColumn[T pdu.Scalar](value func(context.Context, *Request, pdu.Instance) (T, error)) func(context.Context, *Request, *set) error {
	switch f := any(value).(type) {
	case func(context.Context, *Request, pdu.Instance) (uint64, error):
		return collectIntegers(f).fetch(pdu.TypeU64)
	case func(context.Context, *Request, pdu.Instance) (int64, error):
		return collectIntegers(f).fetch(pdu.Type64)
	case func(context.Context, *Request, pdu.Instance) (uint32, error):
		return collectIntegers(f).fetch(pdu.TypeU32)
	case func(context.Context, *Request, pdu.Instance) (int32, error):
		return collectIntegers(f).fetch(pdu.Type32)
	case func(context.Context, *Request, pdu.Instance) (float64, error):
		return collectFloats(f).fetch(pdu.TypeDouble)
	}
	return nil
}

func collectIntegers[T int32 | uint32 | int64 | uint64](value func(context.Context, *Request, pdu.Instance) (T, error)) collector {
	return func(ctx context.Context, r *Request, list []pdu.Instance, ids []pdu.InstID, bits []uint64) (int, error) {
		ids, bits = ids[:len(list)], bits[:len(list)]
		for k := range list {
			v, err := value(ctx, r, list[k])
			if err != nil {
				return k, err
			}
			ids[k], bits[k] = list[k].ID, uint64(v)
		}
		return len(list), nil
	}
}

func collectFloats(value func(context.Context, *Request, pdu.Instance) (float64, error)) collector {
	return func(ctx context.Context, r *Request, list []pdu.Instance, ids []pdu.InstID, bits []uint64) (int, error) {
		ids, bits = ids[:len(list)], bits[:len(list)]
		for k := range list {
			v, err := value(ctx, r, list[k])
			if err != nil {
				return k, err
			}
			ids[k], bits[k] = list[k].ID, math.Float64bits(v)
		}
		return len(list), nil
	}
}

func (collect collector) fetch(t pdu.Type) func(context.Context, *Request, *set) error {
	return func(ctx context.Context, r *Request, s *set) error {
		c := columns.Get().(*column)
		var last error
		for list := s.list; len(list) > 0; {
			part := list[:min(len(list), columnLen)]
			list = list[len(part):]
			n, err := c.fill(ctx, r, s, part, collect)
			if err != nil {
				last = err
			}
			s.w.Numbers(t, c.ids[:n], c.bits[:n])
			s.n += n
		}
		columns.Put(c)
		return last
	}
}

// fill collects the values of at most columnLen instances, and returns their number. The error is
// that of the last instance without a value.
func (c *column) fill(ctx context.Context, r *Request, s *set, list []pdu.Instance, collect collector) (n int, last error) {
	all := s.rule.All()
	for len(list) > 0 {
		part := list
		if !all {
			part = list[:1]
			if !s.rule.Includes(list[0].ID) {
				list = list[1:]
				continue
			}
		}
		done, err := collect(ctx, r, part, c.ids[n:], c.bits[n:])
		n += done
		if err != nil {
			s.failed(part[done].ID, err)
			last = err
			done++
		}
		list = list[done:]
	}
	return n, last
}
