package mmv

import (
	"sync/atomic"
	"time"
)

// A Timer is the sum of the times that something took, in microseconds. It also grows while
// something is in progress. Its methods are safe for concurrent use and take a lock of this Timer.
//
// Spans may overlap, and each counts: two spans that run for a second together count two seconds.
//
// The metric has the type ELAPSED of MMV files, with microseconds. A reader adds the time since the
// start of one interval in progress, so the value is always exact with one running span. With
// several, the value that is read is exact whenever a span starts or stops. In between it grows by
// only one second per second, and the next start or stop corrects it. It does not decrease, unless
// the clock is set or a reader comes while the last span stops.
//
// Timer is the counterpart of mmv_stats_interval_start(3), which has one interval in progress at a
// time.
type Timer struct {
	cell
	running int
	sum     time.Duration // of all spans up to the time last
	last    time.Time
}

// A Span is the time from Timer.Start to Stop. The zero Span is of no timer.
type Span struct {
	timer *Timer
	start time.Time
}

// Start begins a span. Stop each span once:
//
//	defer requests.Start().Stop()
func (t *Timer) Start() Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.advance(now)
	t.running++
	t.write(now)
	return Span{t, now}
}

// Stop ends the span and returns its length. Do not stop a span twice: the second call ends another
// span.
func (s Span) Stop() time.Duration {
	t := s.timer
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.running > 0 {
		t.advance(now)
		t.running--
		t.write(now)
	}
	return now.Sub(s.start)
}

// Add adds a span that was measured elsewhere. It ignores a negative one.
func (t *Timer) Add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.advance(now)
	t.sum += max(d, 0)
	t.write(now)
}

// Value returns the sum of all spans, including the elapsed time of running ones.
func (t *Timer) Value() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum + time.Duration(t.running)*time.Since(t.last)
}

// advance counts the running spans up to now. The clock is the monotonic one.
func (t *Timer) advance(now time.Time) {
	t.sum += time.Duration(t.running) * now.Sub(t.last)
	t.last = now
}

// write stores the record. While spans are running, a reader gets the sum as value + now + extra:
// extra is the negated time of day since when they have been running. Otherwise extra is 0 and
// value is the sum. A concurrent reader can get a wrong sum only when extra changes.
func (t *Timer) write(now time.Time) {
	s := t.slot.Load()
	if s == nil {
		return
	}
	r := s.record
	extra := int64(atomic.LoadUint64(&r[1]))
	sum := t.sum.Microseconds()
	switch {
	case t.running == 0:
		atomic.StoreUint64(&r[1], 0)
		atomic.StoreUint64(&r[0], uint64(sum))
	case extra == 0:
		atomic.StoreUint64(&r[0], uint64(sum))
		atomic.StoreUint64(&r[1], uint64(-now.UnixMicro()))
	default:
		atomic.StoreUint64(&r[0], uint64(sum-(now.UnixMicro()+extra)))
	}
}
