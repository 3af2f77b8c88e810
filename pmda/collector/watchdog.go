package collector

import "time"

// sinceStart is a time on the clock of the Server: nanoseconds since it began, and
// never 0.
func (s *Server) sinceStart(t time.Time) int64 { return int64(t.Sub(s.started)) + 1 }

// clock is the present time on the clock of the Server.
func (s *Server) clock() int64 { return s.sinceStart(time.Now()) }

// watchdog abandons inline calls that are overdue, until all clients have gone. It
// looks when the oldest call in progress will be overdue: those to come are later.
func (s *Server) watchdog() {
	defer close(s.watchdogEnded)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.endWatchdog:
			return
		}
		if limit := s.timeout.Load(); limit > 0 {
			timer.Reset(time.Duration(s.abandonOverdue(limit)))
		}
	}
}

// wakeWatchdog makes the watchdog look now: a call is due sooner than it thinks.
func (s *Server) wakeWatchdog() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// abandonOverdue abandons inline calls that have taken limit, and returns how long
// it is until others may have.
func (s *Server) abandonOverdue(limit int64) (wait int64) {
	now := s.clock()
	oldest := now
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients.all() {
		k := c.inline.Load()
		if k == nil {
			continue
		}
		switch since := k.state.Load(); {
		case since <= 0: // it does not run
		case since <= now-limit:
			s.abandonInline(k, since)
		default:
			oldest = min(oldest, since)
		}
	}
	return oldest + limit - s.clock()
}

// abandonInline has another goroutine go on with the request of a call that runs
// since some time, unless the call has returned.
//
// The call may have come back to the pool after it was found, and be another
// client's by now: if it has been running for so long, it is the other request
// that goes on.
func (s *Server) abandonInline(k *call, since int64) {
	s.wg.Add(1) // while the other goroutine counts for certain, so that Close waits for both
	if !k.state.CompareAndSwap(since, callAbandoned) {
		s.wg.Done()
		return
	}
	r := k.request
	k.request = nil
	go func() {
		defer s.wg.Done()
		r.abandoned = true
		s.logAbandoned(r.client, k) // here, since a log may be slow
		r.resume()
	}()
}
