package collector

import "time"

// sinceStart returns a time on the clock of the Server: nanoseconds since its start, and never 0.
func (s *Server) sinceStart(t time.Time) int64 { return int64(t.Sub(s.started)) + 1 }

// clock returns the current time on the clock of the Server.
func (s *Server) clock() int64 { return s.sinceStart(time.Now()) }

// watchdog abandons overdue inline calls until Close ends it. It sleeps until the oldest call in
// progress becomes overdue, because later calls become overdue later.
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

// wakeWatchdog makes the watchdog check now, because a call is due sooner than it expects.
func (s *Server) wakeWatchdog() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// abandonOverdue abandons inline calls that have taken at least limit. It returns the time until
// other calls may become overdue.
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

// abandonInline abandons a call that has been running since a time, unless it has returned. A new
// goroutine then continues the request.
//
// The call may meanwhile have been reused for another client. If its start is the same there, that
// request is equally overdue, and it is continued instead.
func (s *Server) abandonInline(k *call, since int64) {
	s.wg.Add(1) // before the client's goroutine can end, so that Close waits for both
	if !k.state.CompareAndSwap(since, callAbandoned) {
		s.wg.Done()
		return
	}
	r := k.request
	k.request = nil
	go func() {
		defer s.wg.Done()
		r.abandoned = true
		s.logAbandoned(r.client, k) // not on the watchdog's goroutine: a log may be slow
		r.resume()
	}()
}
