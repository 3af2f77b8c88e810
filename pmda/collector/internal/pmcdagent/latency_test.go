package pmcdagent

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLatencyBuckets checks that each time is less than the bound of its bucket, and at least that
// of the previous bucket.
func TestLatencyBuckets(t *testing.T) {
	for d := time.Duration(0); d < time.Hour; d += d/7 + 1 {
		i := latencyBucket(d)
		if d >= latencyBound(i) || i > 0 && d < latencyBound(i-1) {
			t.Fatalf("%v is in bucket %d, up to %v", d, i, latencyBound(i))
		}
		if d >= time.Microsecond && latencyBound(i) > d+d/4+time.Nanosecond {
			t.Fatalf("bucket of %v reaches to %v", d, latencyBound(i))
		}
	}
	if got := latencyBucket(1 << 62); got != latencyBuckets-1 {
		t.Errorf("the longest time is in bucket %d", got)
	}
}

// TestLatencies checks that quantiles are not too low, and at most a quarter too high.
func TestLatencies(t *testing.T) {
	var l Latencies
	if l.Count() != 0 || l.Max() != 0 || l.Total() != 0 || l.Quantile(0.5) != 0 {
		t.Error("there is something in it")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	var sum time.Duration
	for range 10000 {
		d := time.Duration(r.ExpFloat64() * float64(3*time.Millisecond))
		all = append(all, d)
		sum += d
		l.Add(d)
	}
	l.Add(-1)
	all = append(all, 0)
	slices.Sort(all)
	if l.Count() != uint64(len(all)) || l.Max() != all[len(all)-1] || l.Total() != sum {
		t.Errorf("count %d, max %v, total %v; want %d, %v, %v", l.Count(), l.Max(), l.Total(), len(all), all[len(all)-1], sum)
	}
	for _, part := range []float64{0, 0.5, 0.9, 0.99, 1} {
		want := all[min(int(part*float64(len(all))), len(all)-1)]
		if got := l.Quantile(part); got < want || got > want+want/4+time.Microsecond {
			t.Errorf("quantile %v: %v, want %v", part, got, want)
		}
	}
}

func BenchmarkLatenciesAdd(b *testing.B) {
	var l Latencies
	b.ReportAllocs()
	for b.Loop() {
		l.Add(123 * time.Microsecond)
	}
}
