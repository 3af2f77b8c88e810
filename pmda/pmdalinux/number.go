package pmdalinux

import (
	"context"
	"math"
	"math/bits"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A number returns a number from the last reading of a file, or a result calculated from such
// numbers. It is not ok if the number is unknown.
type number func() (v uint64, ok bool)

// keyedNumber returns the number with a name in a keyed file.
func keyedNumber(k *procfile.KeyedFile, name string) number {
	at := k.Index(name)
	return func() (uint64, bool) { return k.Get(at) }
}

// kilobyte is the number 1024.
func kilobyte() (uint64, bool) { return 1 << 10, true }

// value is the Value of a metric of the number.
func (n number) value(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
	if v, ok := n(); ok {
		return v, nil
	}
	return 0, pmda.NoValue
}

// or returns n, or other if n has no value.
func (n number) or(other number) number {
	return func() (uint64, bool) {
		if v, ok := n(); ok {
			return v, true
		}
		return other()
	}
}

// sum returns a + b. It has no value unless both a and b have one.
func sum(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		return x + y, ok1 && ok2
	}
}

// difference returns a - b. It has no value if b is greater than a.
func difference(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		return x - y, ok1 && ok2 && x >= y
	}
}

// differenceOrZero returns a - b, or 0 if b is greater than a.
func differenceOrZero(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		return x - min(x, y), ok1 && ok2
	}
}

// product returns a * b. It has no value if the product does not fit in 64 bits.
func product(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		over, v := bits.Mul64(x, y)
		return v, ok1 && ok2 && over == 0
	}
}

// sumOfKnown returns the sum of the numbers that the file has. It has no value if the file has no
// such number.
func sumOfKnown(k *procfile.KeyedFile, indices []int) number {
	return func() (sum uint64, ok bool) {
		for _, at := range indices {
			if v, known := k.Get(at); known {
				sum, ok = sum+v, true
			}
		}
		return sum, ok
	}
}

// fit32 is the Value of a 32-bit metric. It returns pmda.NoValue if the number is unknown or too
// large.
func fit32(v uint64, ok bool) (uint32, error) {
	if !ok || v > math.MaxUint32 {
		return 0, pmda.NoValue
	}
	return uint32(v), nil
}

// An optional is a value that the last reading may not have found.
type optional[T pdu.Scalar] struct {
	v  T
	ok bool
}

// result returns the value, or pmda.NoValue, for a Value function of a metric.
func (o *optional[T]) result() (T, error) {
	if !o.ok {
		return o.v, pmda.NoValue
	}
	return o.v, nil
}

// value is the Value of a metric.
func (o *optional[T]) value(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return o.result()
}
