package pmda_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// eventAgent is an agent with one queue of events.
type eventAgent struct {
	*pmda.Agent
	queue  *pmda.EventQueue
	number pmda.EventParam[uint64]
	text   pmda.EventParam[string]
	ids    []pdu.PMID // of the event metric alone
}

func newEventAgent(t testing.TB, change func(q *pmda.EventQueue)) *eventAgent {
	t.Helper()
	e := &eventAgent{Agent: &pmda.Agent{Name: "event", Domain: 400}}
	e.queue = e.NewEventQueue()
	if change != nil {
		change(e.queue)
	}
	typ := pdu.TypeEvent
	if e.queue.HighRes {
		typ = pdu.TypeHighResEvent
	}
	register(t, e.Agent, pmda.Metric[[]byte]{Name: "events.records", Type: typ, Values: e.queue.Values})
	e.number = pmda.RegisterParam(e.Agent, pmda.Metric[uint64]{Name: "events.param.number"})
	e.text = pmda.RegisterParam(e.Agent, pmda.Metric[string]{Name: "events.param.text"})
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	id, err := e.Namespace().Lookup("events.records")
	if err != nil {
		t.Fatal(err)
	}
	e.ids = []pdu.PMID{id}
	return e
}

// BenchmarkEventAppend measures the cost of an event for the program that appends it, while clients
// fetch the events as fast as they can.
func BenchmarkEventAppend(b *testing.B) {
	for _, clients := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			e := newEventAgent(b, func(q *pmda.EventQueue) { q.MaxBytes = 16 << 20 })
			stop := make(chan struct{})
			var started, done sync.WaitGroup
			for i := range clients {
				started.Add(1)
				done.Go(func() {
					r := &pmda.Request{Client: pmda.NewClient(uint32(i), uint64(i)+1)}
					var w pdu.ResultWriter
					for n := 0; ; n++ {
						w.Reset()
						if err := e.Fetch(b.Context(), r, e.ids, &w); err != nil {
							b.Error(err)
							return
						}
						if n == 0 {
							started.Done()
						}
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
						}
					}
				})
			}
			started.Wait()
			now := time.Now()
			b.ReportAllocs()
			n := uint64(0)
			for b.Loop() {
				n++
				if err := e.queue.Append(now, pdu.EventPoint, e.number.Of(n), e.text.Of("/index.html")); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			close(stop)
			done.Wait()
		})
	}
}

// BenchmarkEventNobody measures an event that no client reads, by its number of parameters.
func BenchmarkEventNobody(b *testing.B) {
	e := newEventAgent(b, nil)
	now := time.Now()
	b.Run("params=0", func(b *testing.B) {
		for b.Loop() {
			_ = e.queue.Append(now, pdu.EventPoint)
		}
	})
	b.Run("params=1", func(b *testing.B) {
		for b.Loop() {
			_ = e.queue.Append(now, pdu.EventPoint, e.number.Of(1))
		}
	})
	b.Run("params=2", func(b *testing.B) {
		for b.Loop() {
			_ = e.queue.Append(now, pdu.EventPoint, e.number.Of(1), e.text.Of("/index.html"))
		}
	})
}

// BenchmarkEventFetch measures the fetch of 1,000 events.
func BenchmarkEventFetch(b *testing.B) {
	for _, filter := range []bool{false, true} {
		b.Run(fmt.Sprintf("filter=%v", filter), func(b *testing.B) {
			e := newEventAgent(b, nil)
			r := request()
			if filter {
				e.queue.SetFilter(r.Client, func(pdu.EventRecord) bool { return true })
			}
			var w pdu.ResultWriter
			fetch := func() {
				w.Reset()
				if err := e.Fetch(b.Context(), r, e.ids, &w); err != nil {
					b.Fatal(err)
				}
			}
			fetch()
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i := range 1000 {
					if err := e.queue.Append(now, pdu.EventPoint, e.number.Of(uint64(i))); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				fetch()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
		})
	}
}

// TestEventAllocs checks that an event costs no allocation, with and without a client that fetches
// it.
func TestEventAllocs(t *testing.T) {
	for _, read := range []bool{false, true} {
		e := newEventAgent(t, nil)
		r, now := request(), time.Now()
		var w pdu.ResultWriter
		fetch := func() {
			w.Reset()
			if err := e.Fetch(t.Context(), r, e.ids, &w); err != nil {
				t.Fatal(err)
			}
		}
		if read {
			fetch()
		}
		text := "a text that is too long for a small buffer on the stack"
		n := testing.AllocsPerRun(1000, func() {
			if err := e.queue.Append(now, pdu.EventPoint, e.number.Of(1<<40), e.text.Of(text)); err != nil {
				t.Fatal(err)
			}
			if read {
				fetch()
			}
		})
		if n != 0 && !raceEnabled {
			t.Errorf("read=%v: %v allocations per event, want 0", read, n)
		}
	}
}
