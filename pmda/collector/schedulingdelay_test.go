//go:build unix

package collector

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// A delayMonitor measures how late the machine schedules goroutines on every processor. The
// collector is not responsible for such delays.
type delayMonitor struct{ processors []delaySamples }

// delaySamples holds the latest samples of one processor in a ring.
type delaySamples struct {
	mu   sync.Mutex
	ring [8192]delaySample
	next int
}

// A delaySample is the delay of a goroutine that ran at the time at.
type delaySample struct {
	at   time.Time
	late time.Duration
}

const sampleInterval = 5 * time.Millisecond

func newDelayMonitor() *delayMonitor { return &delayMonitor{make([]delaySamples, runtime.NumCPU())} }

func (m *delayMonitor) run(ctx context.Context) {
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

func (s *delaySamples) run(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Now().Add(sampleInterval)
		time.Sleep(sampleInterval)
		now := time.Now()
		s.mu.Lock()
		s.ring[s.next%len(s.ring)] = delaySample{now, now.Sub(due)}
		s.next++
		s.mu.Unlock()
	}
}

// allowance returns how late a reply may be if the client waited for it from start to end.
// Between the request and the reply, about half a dozen goroutines and processes are scheduled
// one after the other. Each may be as late as the worst sample of that time.
func (m *delayMonitor) allowance(start, end time.Time) time.Duration {
	var worst time.Duration
	for i := range m.processors {
		worst = max(worst, m.processors[i].worst(start, end))
	}
	return 6 * worst
}

// worst returns the longest delay from start to end. A sample that is due but has not been taken
// counts as well.
func (s *delaySamples) worst(start, end time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var worst time.Duration
	var last time.Time
	for _, sample := range &s.ring {
		if sample.at.After(last) {
			last = sample.at
		}
		if !sample.at.Before(start) && sample.at.Add(-sample.late).Before(end) {
			worst = max(worst, sample.late)
		}
	}
	if !last.IsZero() {
		worst = max(worst, end.Sub(last)-sampleInterval)
	}
	return worst
}
