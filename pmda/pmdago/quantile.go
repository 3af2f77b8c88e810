package pmdago

import (
	"math"
	"runtime/metrics"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// quantiles are the instances of the metrics with quantiles, whose IDs are the
// places here.
var quantiles = [...]struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}}

func (a *agent) addQuantiles() {
	a.quantiles = &pmda.InDom{
		Name: "quantile", Serial: pmda.InDomSerial(serialQuantiles), Text: "Quantiles of a distribution",
		Help: "The values that 50, 90, 99 and 100 of 100 do not exceed.",
	}
	a.Attach(a.quantiles)
	var list []pdu.Instance
	for i, q := range quantiles {
		list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: q.name})
	}
	a.quantiles.SetInstances(list...)
}

// putQuantiles gives the quantiles of what was counted since there were the
// counts before; nil means since the start. Of nothing there are none. Seconds
// become microseconds: tools show three decimals, which is nothing of a pause.
func putQuantiles(s *pmda.Values[float64], h *metrics.Float64Histogram, before []uint64, seconds bool) {
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
		return
	}
	var sum uint64
	next := 0
	for i := range h.Counts {
		sum += counted(i)
		v := highest(h, i)
		if seconds {
			v = math.Round(v*1e9) / 1e3 // limits are in nanoseconds
		}
		for next < len(quantiles) && sum >= rank(quantiles[next].share, total) {
			s.Put(pdu.InstID(next), v)
			next++
		}
	}
}

// rank is how many of a total do not exceed the quantile, at least one.
func rank(share float64, total uint64) uint64 {
	if share == 1 {
		return total
	}
	return max(1, uint64(math.Ceil(share*float64(total))))
}

// highest is what the values in a bucket stay below, as far as is known.
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

// A window keeps samples of earlier fetches: enough for one of them to be
// windowLength old while clients fetch all the time.
type window struct {
	samples []sample // oldest first
}

// A sample is the counts of a histogram at a time.
type sample struct {
	at     time.Time
	counts []uint64
}

// since returns the counts at the beginning of the window. Nil means the start of
// the process, while no sample is old enough: a shorter window might have counted
// nothing. It keeps the present counts for later. The result is valid until the next
// call.
func (w *window) since(now time.Time, counts []uint64) []uint64 {
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
// since has not returned: the one after it is older than windowLength too.
func (w *window) keep(now time.Time, counts []uint64) {
	const most = int(windowLength/windowStep) + 2
	var l sample
	if len(w.samples) == most {
		l = w.samples[0]
		w.samples = append(w.samples[:0], w.samples[1:]...)
	}
	w.samples = append(w.samples, sample{now, append(l.counts[:0], counts...)})
}
