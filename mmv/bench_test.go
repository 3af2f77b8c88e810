//go:build unix

package mmv_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/mmv"
)

// published returns a registry with a file.
func published(tb testing.TB, r *mmv.Registry) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := r.Publish(dir); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

func parallel(b *testing.B, f func()) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f()
		}
	})
}

// BenchmarkAtomicAdd is what Counter.Inc is compared with.
func BenchmarkAtomicAdd(b *testing.B) {
	var n atomic.Uint64
	parallel(b, func() { n.Add(1) })
}

func BenchmarkCounterInc(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	c := r.Counter("c", mmv.Metric{})
	published(b, r)
	parallel(b, c.Inc)
}

func BenchmarkFloatCounterAdd(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	c := r.FloatCounter("c", mmv.Metric{})
	published(b, r)
	parallel(b, func() { c.Add(1.5) })
}

func BenchmarkGaugeSet(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	g := r.Gauge("g", mmv.Metric{})
	published(b, r)
	parallel(b, func() { g.Set(3) })
}

func BenchmarkTimerSpan(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	t := r.Timer("t", mmv.Metric{})
	published(b, r)
	parallel(b, func() { t.Start().Stop() })
}

func BenchmarkTextSet(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	t := r.Text("t", mmv.Metric{})
	published(b, r)
	parallel(b, func() { t.Set("waiting for input") })
}

func BenchmarkHistogramObserve(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	h := r.Histogram("h", mmv.Metric{}, mmv.ExponentialBuckets(0.001, 1.7, 20))
	published(b, r)
	parallel(b, func() { h.Observe(0.3) })
}

func BenchmarkVecWith(b *testing.B) {
	r := &mmv.Registry{Name: "bench"}
	v := r.InDom("d", mmv.Domain{}).Counter("c", mmv.Metric{})
	var names [1000]string
	for i := range names {
		names[i] = fmt.Sprintf("instance-%d", i)
		v.With(names[i])
	}
	published(b, r)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			v.With(names[i%len(names)]).Inc()
		}
	})
}

// BenchmarkGrow is adding an instance with one value to a published registry that has many.
func BenchmarkGrow(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			r := &mmv.Registry{Name: "bench"}
			v := r.InDom("d", mmv.Domain{}).Counter("c", mmv.Metric{})
			for i := range n {
				v.With(fmt.Sprint("instance-", i))
			}
			published(b, r)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v.With(fmt.Sprint("more-", i))
			}
		})
	}
}
