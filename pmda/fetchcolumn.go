package pmda

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// A column collects the numbers of many instances, because it is faster to write them at once. It
// comes from a pool. On the stack of a client's goroutine, it would grow the stacks of thousands of
// clients.
type column[T any] struct {
	ids    [columnLen]pdu.InstID
	values [columnLen]T
}

// columnLen is the number of values that are written at once. It is small enough for the
// processor's cache.
const columnLen = 256

// A columnType has the pool and the write function for columns of one type.
type columnType[T any] struct {
	pool  sync.Pool // of *column[T]
	write func(w *pdu.ResultWriter, ids []pdu.InstID, values []T)
}

func newColumnType[T any](write func(*pdu.ResultWriter, []pdu.InstID, []T)) *columnType[T] {
	return &columnType[T]{pool: sync.Pool{New: func() any { return new(column[T]) }}, write: write}
}

var (
	columnsU64    = newColumnType((*pdu.ResultWriter).Uint64s)
	columns64     = newColumnType((*pdu.ResultWriter).Int64s)
	columnsU32    = newColumnType((*pdu.ResultWriter).Uint32s)
	columns32     = newColumnType((*pdu.ResultWriter).Int32s)
	columnsDouble = newColumnType((*pdu.ResultWriter).Float64s)
)

// fetchColumn returns a function that calls value for every instance that the client wants, and
// writes the numbers in columns. It returns nil if the values are not numbers.
func fetchColumn[T pdu.Scalar](value func(context.Context, *Request, pdu.Instance) (T, error)) func(context.Context, *Request, *set) error {
	switch f := any(value).(type) {
	case func(context.Context, *Request, pdu.Instance) (uint64, error):
		return columnsU64.fetch(f)
	case func(context.Context, *Request, pdu.Instance) (int64, error):
		return columns64.fetch(f)
	case func(context.Context, *Request, pdu.Instance) (uint32, error):
		return columnsU32.fetch(f)
	case func(context.Context, *Request, pdu.Instance) (int32, error):
		return columns32.fetch(f)
	case func(context.Context, *Request, pdu.Instance) (float64, error):
		return columnsDouble.fetch(f)
	}
	return nil
}

func (t *columnType[T]) fetch(value func(context.Context, *Request, pdu.Instance) (T, error)) func(context.Context, *Request, *set) error {
	return func(ctx context.Context, r *Request, s *set) error {
		c := t.pool.Get().(*column[T])
		var last error
		for list := s.list; len(list) > 0; {
			part := list[:min(len(list), columnLen)]
			list = list[len(part):]
			n, err := c.fill(ctx, r, s, part, value)
			if err != nil {
				last = err
			}
			t.write(s.w, c.ids[:n], c.values[:n])
			s.n += n
		}
		t.pool.Put(c)
		return last
	}
}

// fill collects the values of at most columnLen instances, and returns their number. The error is
// that of the last instance without a value.
func (c *column[T]) fill(ctx context.Context, r *Request, s *set, list []pdu.Instance, value func(context.Context, *Request, pdu.Instance) (T, error)) (n int, last error) {
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
		done, err := collect(ctx, r, part, c.ids[n:], c.values[n:], value)
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

// collect calls value for the instances of list up to the first error, and returns the number of
// values. ids and values must have room for the whole list. fill does the rest, so that this loop
// has few variables.
func collect[T any](ctx context.Context, r *Request, list []pdu.Instance, ids []pdu.InstID, values []T, value func(context.Context, *Request, pdu.Instance) (T, error)) (int, error) {
	ids, values = ids[:len(list)], values[:len(list)]
	for k := range list {
		v, err := value(ctx, r, list[k])
		if err != nil {
			return k, err
		}
		ids[k], values[k] = list[k].ID, v
	}
	return len(list), nil
}
