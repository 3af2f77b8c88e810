package logreduce

import (
	"context"
	"math/bits"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

// These constants limit the work by the number of input records, for any span of time.
const (
	maxSilent     = 1000 // consecutive intervals without a record and without anything to write
	idlePerRecord = 100  // intervals without a record, for each record, beside maxIdle
)

// maxIdle is the number of intervals without a record that any input may have. Tests set it lower.
var maxIdle = 250_000

// skip is called after an interval without a record of the input. After many such intervals it
// moves to the interval of the next record. The intervals in between would be like this one.
// written reports whether this interval wrote anything, such as metrics without values.
func (r *reducer) skip(ctx context.Context, t time.Time, written bool) error {
	r.idle++
	r.allIdle++
	if !r.ahead || r.idle < maxSilent || written && r.allIdle < maxIdle+idlePerRecord*r.seen {
		return nil
	}
	r.idle = 0
	return r.interp.SetMode(ctx, pmapi.ModeInterp, onGrid(t, r.record.Time, r.Interval), r.Interval)
}

// onGrid is the first of the times t, t+interval, … that is not before next, which is after t, by
// more than a time.Duration may have.
func onGrid(t, next time.Time, interval time.Duration) time.Time {
	seconds, ns := next.Unix()-t.Unix(), next.Nanosecond()-t.Nanosecond()
	if ns < 0 {
		seconds, ns = seconds-1, ns+int(time.Second)
	}
	hi, lo := bits.Mul64(uint64(seconds), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(ns), 0)
	if over := bits.Rem64(hi+carry, lo, uint64(interval)); over > 0 {
		next = next.Add(interval - time.Duration(over))
	}
	return next
}
