package collector

import (
	"runtime"
	"sync"
	"time"
)

// A trimmer collects garbage once after clients have released much memory and have reserved no
// more for a while. Otherwise memory would return to the system late after a peak: an idle
// process collects garbage every two minutes, and memory in a sync.Pool takes two collections.
type trimmer struct {
	mu    sync.Mutex
	timer *time.Timer // nil unless a collection is scheduled
	last  time.Time   // the latest collection
	ended bool
}

const (
	trimPeak  = 16 << 20         // lower peaks do not matter
	trimPause = 10 * time.Second // from the end of a peak to the collection
	trimEvery = 30 * time.Second // the minimum time between two collections
)

// noteRelease schedules a collection when clients have released most of their memory.
func (s *Server) noteRelease() {
	if peak := s.ledger.peak.Load(); peak >= trimPeak && s.ledger.held.Load() <= peak/4 {
		s.trim.plan(s.collect)
	}
}

// plan schedules a call of f, unless one is scheduled already.
func (t *trimmer) plan(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil || t.ended {
		return
	}
	wait := max(trimPause, trimEvery-time.Since(t.last))
	t.timer = time.AfterFunc(wait, func() {
		t.mu.Lock()
		t.timer, t.last = nil, time.Now()
		t.mu.Unlock()
		f()
	})
}

// end stops scheduling collections.
func (t *trimmer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// collect collects garbage, unless clients hold much memory again.
func (s *Server) collect() {
	held := s.ledger.held.Load()
	if held > s.ledger.peak.Load()/4 {
		return // noteRelease schedules another collection
	}
	s.ledger.peak.Store(held)
	for range cap(s.wideRequests) {
		select {
		case <-s.wideRequests:
		default:
		}
	}
	runtime.GC()
	runtime.GC() // the first one does not empty a sync.Pool
}
