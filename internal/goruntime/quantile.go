package goruntime

import (
	"math"
	"runtime/metrics"
	"time"
)

// QuantileNames are the names of the quantiles that Quantiles computes.
var QuantileNames = [...]string{"p50", "p90", "p99", "max"}

var shares = [len(QuantileNames)]float64{0.5, 0.9, 0.99, 1}

// Quantiles computes the quantiles of the counts since before; nil means since the start. ok is
// false if nothing was counted. Seconds become microseconds, because tools show three decimals, too
// few for a pause in seconds.
//
// Quantiles are as exact as the buckets: each is the upper limit of its bucket, and so never too
// low. The last bucket has no upper limit; its quantiles are its lower limit.
func Quantiles(h *metrics.Float64Histogram, before []uint64, seconds bool) (q [len(QuantileNames)]float64, ok bool) {
	counted := func(i int) uint64 {
		if i < len(before) && before[i] <= h.Counts[i] {
			return h.Counts[i] - before[i]
		}
		return h.Counts[i]
	}
	var total uint64
	for i := range h.Counts {
		total += counted(i)
	}
	if total == 0 {
		return q, false
	}
	var sum uint64
	next := 0
	for i := range h.Counts {
		sum += counted(i)
		v := highest(h, i)
		if seconds {
			v = math.Round(v*1e9) / 1e3 // limits are in nanoseconds
		}
		for next < len(q) && sum >= rank(shares[next], total) {
			q[next] = v
			next++
		}
	}
	return q, true
}

// rank is how many of a total do not exceed the quantile, at least one.
func rank(share float64, total uint64) uint64 {
	if share == 1 {
		return total
	}
	return max(1, uint64(math.Ceil(share*float64(total))))
}

// highest returns the upper limit of a bucket's values, as far as it is known.
func highest(h *metrics.Float64Histogram, bucket int) float64 {
	if upper := h.Buckets[bucket+1]; !math.IsInf(upper, 1) {
		return upper
	}
	return h.Buckets[bucket]
}

const (
	windowLength = time.Minute
	windowStep   = 10 * time.Second // between two samples that are kept
)

// A Window keeps samples of earlier reads: enough for one of them to be
// windowLength old while there are reads all the time.
type Window struct {
	samples []sample // oldest first
}

// A sample is the counts of a histogram at a time.
type sample struct {
	at     time.Time
	counts []uint64
}

// Since returns the counts at the beginning of the window. Nil means the start of
// the process, while no sample is old enough: a shorter window might have counted
// nothing. It keeps the present counts for later. The result is valid until the next
// call.
func (w *Window) Since(now time.Time, counts []uint64) []uint64 {
	var before []uint64
	for _, l := range w.samples {
		// A client that fetches once a minute may be a little early.
		if now.Sub(l.at) >= windowLength-windowStep/2 {
			before = l.counts
		}
	}
	if n := len(w.samples); n == 0 || now.Sub(w.samples[n-1].at) >= windowStep {
		w.keep(now, counts)
	}
	return before
}

// keep adds a sample. If there are enough, it uses the memory of the oldest, which
// Since has not returned: the one after it is older than windowLength too.
func (w *Window) keep(now time.Time, counts []uint64) {
	const most = int(windowLength/windowStep) + 2
	var l sample
	if len(w.samples) == most {
		l = w.samples[0]
		w.samples = append(w.samples[:0], w.samples[1:]...)
	}
	w.samples = append(w.samples, sample{now, append(l.counts[:0], counts...)})
}
