package pmapi

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A sample is a number as it came from the collector.
type sample struct {
	bits uint64 // as the class of the metric has it
	real float64
	ok   bool
}

// A rater makes rates of samples.
type rater struct {
	signed, unsigned bool // or else real
	wrap             int  // how many bits a counter has that may pass its greatest value; 0: none does
}

func raterOf(t pdu.Type, o *itemOptions) rater {
	return raterOfType(t, o.counterWrap)
}

func raterOfType(t pdu.Type, wrap bool) rater {
	r := rater{signed: t == pdu.Type32 || t == pdu.Type64, unsigned: t == pdu.TypeU32 || t == pdu.TypeU64}
	switch {
	case !wrap:
	case t == pdu.Type32 || t == pdu.TypeU32:
		r.wrap = 32
	case t == pdu.Type64 || t == pdu.TypeU64:
		r.wrap = 64
	}
	return r
}

// sample makes a sample of a number.
func (r *rater) sample(a pdu.Atom) (s sample, err error) {
	switch {
	case r.unsigned:
		s.bits, err = pdu.As[uint64](a)
	case r.signed:
		var v int64
		v, err = pdu.As[int64](a)
		s.bits = uint64(v)
	default:
		s.real, err = pdu.As[float64](a)
	}
	s.ok = err == nil
	return s, err
}

// rate is the change from one sample to the next by the seconds between them.
func (r *rater) rate(old, now sample, dt time.Duration) (float64, pdu.Error) {
	switch {
	case !old.ok:
		return 0, pdu.ErrAgain
	case dt < 0: // the collector's clock was set
		return 0, pdu.ErrValue
	}
	change := r.change(old, now)
	if change < 0 {
		return 0, pdu.ErrValue
	}
	return change / max(dt, 1).Seconds(), 0
}

// change is how far a counter has come from one sample to the next, less than 0 if it has gone back.
func (r *rater) change(old, now sample) float64 {
	if !r.signed && !r.unsigned {
		return now.real - old.real
	}
	up, back := now.bits-old.bits, now.bits < old.bits // up is right past the greatest value too
	if r.signed {
		back = int64(now.bits) < int64(old.bits)
	}
	switch {
	case !back || r.wrap == 64:
		return float64(up)
	case r.wrap == 32:
		return float64(uint32(up))
	}
	return -float64(-up)
}

// CounterChange is the difference between a value of a counter and a later one: exact for integers until it becomes a
// float64, and less than 0 if the counter has decreased. With wrap, an integer counter that has decreased counts as one
// that has passed its greatest value once, as in the C library if PCP_COUNTER_WRAP is set.
//
// A Group makes its rates of such differences. Errors: pdu.ErrType for values of different types, and those of pdu.As for
// values that are no numbers.
func CounterChange(from, to pdu.Atom, wrap bool) (float64, error) {
	if from.Type != to.Type {
		return 0, pdu.ErrType
	}
	r := raterOfType(from.Type, wrap)
	old, err := r.sample(from)
	if err != nil {
		return 0, err
	}
	now, err := r.sample(to)
	if err != nil {
		return 0, err
	}
	return r.change(old, now), nil
}
