package trace

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// TestQueue: many goroutines put more than fits while one takes. Each datum is taken once, in the
// order of its goroutine, or dropped.
func TestQueue(t *testing.T) {
	const goroutines, each = 4, 50_000
	q := newQueue(100)
	if len(q.slots) != 128 {
		t.Errorf("%d slots", len(q.slots))
	}
	var wg sync.WaitGroup
	var running atomic.Int32
	running.Store(goroutines)
	for i := range goroutines {
		wg.Go(func() {
			defer running.Add(-1)
			for n := range each {
				q.put(tracewire.KindCounter, float64(n), strconv.Itoa(i))
			}
		})
	}
	last, taken := map[string]float64{}, uint64(0)
	for done := false; !done; {
		done = running.Load() == 0
		for d := q.peek(0); d != nil; d = q.peek(0) {
			tag := string(d.tag[:d.len])
			if l, ok := last[tag]; ok && l >= d.value {
				t.Fatalf("%s: %v after %v", tag, d.value, l)
			}
			last[tag] = d.value
			q.take(1)
			taken++
		}
	}
	wg.Wait()
	if taken != q.accepted() || taken+q.dropped.Load() != goroutines*each {
		t.Errorf("%d taken, %d accepted, %d dropped of %d", taken, q.accepted(), q.dropped.Load(), goroutines*each)
	}
	q.close()
	q.put(tracewire.KindPoint, 0, "late")
	if q.peek(0) != nil || q.accepted() != taken {
		t.Error("a put after close")
	}
}

// BenchmarkPut measures the cost to the caller of a queued datum, including its removal.
func BenchmarkPut(b *testing.B) {
	c := &Client{}
	q := newQueue(defaultQueue)
	c.q.Store(q)
	b.ReportAllocs()
	for b.Loop() {
		c.Point("bench_point")
		q.take(1)
	}
}
