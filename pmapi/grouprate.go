package pmapi

import (
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

// CounterChange returns the increase of a counter from one value to a later one. For integers it is
// exact before the conversion to float64. If wrap is true, an integer counter that has decreased is
// taken to have passed its greatest value once, as in the C library if PCP_COUNTER_WRAP is set.
//
// Errors: pdu.ErrValue if the counter has decreased, which means that it was reset; pdu.ErrType for
// values of different types; and those of pdu.As for values that are not numbers.
func CounterChange(from, to pdu.Atom, wrap bool) (float64, error) {
	kind, old, now, err := samples(from, to, wrap)
	if err != nil {
		return 0, err
	}
	change, code := kind.Increase(old, now)
	return change, asError(code)
}

// CounterRate returns the rate per second of a counter from one value to the next. A Group, and the
// function rate of derived metrics, compute their rates in the same way. A program that reads an
// archive backwards must pass the values in the order of their times.
//
// Errors: those of CounterChange, and pdu.ErrValue if elapsed is not greater than 0, which means
// that both values have the same time or that the clock was set back.
func CounterRate(from, to pdu.Atom, elapsed time.Duration, wrap bool) (float64, error) {
	kind, old, now, err := samples(from, to, wrap)
	if err != nil {
		return 0, err
	}
	rate, code := kind.Rate(old, now, difference.Step{Elapsed: elapsed})
	return rate, asError(code)
}

// samples returns two values of a counter as samples.
func samples(from, to pdu.Atom, wrap bool) (kind difference.Kind, old, now difference.Sample, err error) {
	if from.Type != to.Type {
		return kind, old, now, pdu.ErrType
	}
	kind = difference.KindOf(from.Type, true, wrap)
	if old, err = kind.Sample(from); err == nil {
		now, err = kind.Sample(to)
	}
	return kind, old, now, err
}

// asError returns a code as an error, nil for 0.
func asError(code pdu.Error) error {
	if code == 0 {
		return nil
	}
	return code
}
