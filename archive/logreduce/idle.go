package logreduce

import (
	"context"
	"math/bits"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

// These constants bound the work by the number of input records, however long the archive is.
const (
	maxSilent     = 1000 // consecutive intervals without an input record, before any are skipped
	idlePerRecord = 100  // intervals without a record that each input record adds to maxIdle
)

// maxIdle is the number of intervals without a record for any input. Tests set it lower.
var maxIdle = 250_000

// skip is called after an interval without an input record. After many such intervals it moves to
// the interval of the next record, since those in between would be like this one. written says
// whether this interval wrote anything, such as metrics without values.
func (r *reducer) skip(ctx context.Context, t time.Time, written bool) error {
	r.idle++
	r.allIdle++
	if !r.ahead || r.idle < maxSilent || written && r.allIdle < maxIdle+idlePerRecord*r.seen {
		return nil
	}
	r.idle = 0
	return r.interp.SetMode(ctx, pmapi.ModeInterp, onGrid(t, r.record.Time, r.Interval), r.Interval)
}

// onGrid returns the first of t, t+interval, … that is not before next. next must be after t; the
// difference may exceed a time.Duration.
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
