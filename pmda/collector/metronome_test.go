//go:build unix

package collector

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// A metronome beats every few milliseconds, on every processor, and notes how late
// it was: what the machine, not the collector, made everybody wait.
type metronome struct{ processors []beats }

// beats are the latest of one processor, in a ring.
type beats struct {
	mu   sync.Mutex
	ring [8192]beat
	next int
}

type beat struct {
	at   time.Time
	late time.Duration
}

const metronomeBeat = 5 * time.Millisecond

func newMetronome() *metronome { return &metronome{make([]beats, runtime.NumCPU())} }

func (m *metronome) run(ctx context.Context) {
	var all sync.WaitGroup
	for i := range m.processors {
		all.Go(func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			pin(i)
			m.processors[i].run(ctx)
		})
	}
	all.Wait()
}

func (b *beats) run(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Now().Add(metronomeBeat)
		time.Sleep(metronomeBeat)
		now := time.Now()
		b.mu.Lock()
		b.ring[b.next%len(b.ring)] = beat{now, now.Sub(due)}
		b.next++
		b.mu.Unlock()
	}
}

// slack is the allowance for an answer that was waited for from start to end.
// Between the request and the answer some half a dozen goroutines and processes
// have to be scheduled one after the other, each of which may be as late as the
// latest beat of that time.
func (m *metronome) slack(start, end time.Time) time.Duration {
	var worst time.Duration
	for i := range m.processors {
		worst = max(worst, m.processors[i].worst(start, end))
	}
	return 6 * worst
}

// worst is how late a beat was from start to end. One that is due, but has not
// come, counts as well.
func (b *beats) worst(start, end time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var worst time.Duration
	var last time.Time
	for _, b := range &b.ring {
		if b.at.After(last) {
			last = b.at
		}
		if !b.at.Before(start) && b.at.Add(-b.late).Before(end) {
			worst = max(worst, b.late)
		}
	}
	if !last.IsZero() {
		worst = max(worst, end.Sub(last)-metronomeBeat)
	}
	return worst
}
