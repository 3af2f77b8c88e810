// Package difference compares two samples of a number. All rates and changes of the module are
// computed here, so that they agree about counters that were reset or have wrapped, samples of one
// time, clocks that were set back, and archives that are read backwards.
package difference

import (
	"math"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Sample is a number as it came from its source. The zero Sample stands for a missing value.
type Sample struct {
	OK   bool   // there is a value
	bits uint64 // of an integer
	real float64
}

// A Kind describes the numbers of a metric.
type Kind struct {
	signed, unsigned bool    // otherwise real
	counter          bool    // a number that decreases was reset
	wrap             int     // bits of a counter that wraps; 0 if a counter never does
	modulus          float64 // for OfFloats: how many values a counter that wraps has; 0 if it never does
}

// KindOf returns the Kind of the numbers of a type. With wrap, an integer counter that has
// decreased has passed its greatest value once; otherwise it was reset.
func KindOf(t pdu.Type, counter, wrap bool) Kind {
	k := Kind{
		signed:   t == pdu.Type32 || t == pdu.Type64,
		unsigned: t == pdu.TypeU32 || t == pdu.TypeU64,
		counter:  counter,
	}
	switch {
	case !counter || !wrap:
	case t == pdu.Type32 || t == pdu.TypeU32:
		k.wrap = 32
	case t == pdu.Type64 || t == pdu.TypeU64:
		k.wrap = 64
	}
	return k
}

// Sample converts a value. The error is that of pdu.As.
func (k Kind) Sample(a pdu.Atom) (s Sample, err error) {
	switch {
	case k.unsigned:
		s.bits, err = pdu.As[uint64](a)
	case k.signed:
		var v int64
		v, err = pdu.As[int64](a)
		s.bits = uint64(v)
	default:
		s.real, err = pdu.As[float64](a)
	}
	s.OK = err == nil
	return s, err
}

// OfFloats returns a Kind whose values were converted to float64 before, as PCP's tools do.
func (k Kind) OfFloats() Kind {
	f := Kind{counter: k.counter}
	if k.wrap != 0 {
		f.modulus = math.Exp2(float64(k.wrap))
	}
	return f
}

// Float returns the Sample of a number for a Kind of OfFloats.
func Float(v float64) Sample { return Sample{OK: true, real: v} }

// A Step is the time from one sample to the next.
type Step struct {
	Elapsed   time.Duration
	Backwards bool // the source is read backwards, so Elapsed is less than 0
}

// order returns two samples in the order of their times, and the time between them.
func (s Step) order(from, to Sample) (earlier, later Sample, elapsed time.Duration) {
	if s.Backwards {
		return to, from, -s.Elapsed
	}
	return from, to, s.Elapsed
}

// Change returns the change from one sample to the next, or from the next to the first if the
// source is read backwards. It is exact for integers until it becomes a float64. Errors:
//
//	pdu.ErrAgain   one of the samples is missing
//	pdu.ErrValue   the counter was reset, no time has passed, or the clock was set back
func (k Kind) Change(from, to Sample, s Step) (float64, pdu.Error) {
	from, to, elapsed := s.order(from, to)
	if elapsed <= 0 && from.OK && to.OK {
		return 0, pdu.ErrValue
	}
	return k.Increase(from, to)
}

// Rate is Change per second.
func (k Kind) Rate(from, to Sample, s Step) (float64, pdu.Error) {
	change, code := k.Change(from, to, s)
	if code != 0 {
		return 0, code
	}
	return change / (float64(s.Elapsed.Abs()) / 1e9), 0 // Seconds would round twice
}

// Increase is Change for samples in the order of their times. The caller makes sure that the times
// differ.
func (k Kind) Increase(from, to Sample) (float64, pdu.Error) {
	if !from.OK || !to.OK {
		return 0, pdu.ErrAgain
	}
	change := k.subtract(to, from)
	if k.counter && change < 0 {
		return 0, pdu.ErrValue
	}
	return change, 0
}

// subtract returns a - b, or the increase from b to a of a counter that wraps.
func (k Kind) subtract(a, b Sample) float64 {
	if !k.signed && !k.unsigned {
		if change := a.real - b.real; change >= 0 || k.modulus == 0 {
			return change
		}
		return a.real + k.modulus - b.real
	}
	up, less := a.bits-b.bits, a.bits < b.bits // up is right for a counter that has wrapped, too
	if k.signed {
		less = int64(a.bits) < int64(b.bits)
	}
	switch {
	case !less || k.wrap == 64:
		return float64(up)
	case k.wrap == 32:
		return float64(uint32(up))
	}
	return -float64(-up)
}
