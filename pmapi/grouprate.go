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
	r := rater{signed: t == pdu.Type32 || t == pdu.Type64, unsigned: t == pdu.TypeU32 || t == pdu.TypeU64}
	switch {
	case !o.counterWrap:
	case t == pdu.Type32 || t == pdu.TypeU32:
		r.wrap = 32
	case t == pdu.Type64 || t == pdu.TypeU64:
		r.wrap = 64
	}
	return r
}

// sample takes a number.
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
	up := now.bits - old.bits // past the greatest value, too
	change := float64(up)
	less := now.bits < old.bits
	switch {
	case r.signed:
		less = int64(now.bits) < int64(old.bits)
	case !r.unsigned:
		change, less = now.real-old.real, now.real < old.real
	}
	switch {
	case !less || r.wrap == 64:
	case r.wrap == 32:
		change = float64(uint32(up))
	default:
		return 0, pdu.ErrValue
	}
	return change / max(dt, 1).Seconds(), 0
}
