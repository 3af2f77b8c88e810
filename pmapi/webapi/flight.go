package webapi

import "sync"

// flights are fetches of one context that wait for its turn. Requests for the same metrics that
// come before a fetch begins share it: each has values of a time after its request, and a crowd of
// requests costs the collector little more than one.
type flights struct {
	mu      sync.Mutex
	waiting map[planKey]*flight
}

// A flight is a fetch that several requests wait for.
type flight struct {
	joined int           // requests beside the one that makes it
	done   chan struct{} // closed when what follows is set
	again  bool          // it was not made: its request has ended before
	values []byte        // of the reply
	err    error
}

// join joins the flight that waits with a key, or begins one, which the caller makes.
func (s *flights) join(key planKey) (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.waiting[key]; f != nil {
		f.joined++
		return f, false
	}
	if s.waiting == nil {
		s.waiting = map[planKey]*flight{}
	}
	f = &flight{done: make(chan struct{})}
	s.waiting[key] = f
	return f, true
}

// depart ends the time to join a flight, and reports whether any request has.
func (s *flights) depart(key planKey, f *flight) (shared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, key)
	return f.joined > 0
}

// shared fetches into q.out what other requests for the same may have fetched at this time.
func (q *query) shared(s *session, key planKey, fetch func() error) error {
	for {
		f, mine := s.flights.join(key)
		if mine {
			return q.lead(s, key, f, fetch)
		}
		select {
		case <-f.done:
		case <-q.ctx.Done():
			return q.ctx.Err()
		}
		if f.again {
			continue
		}
		q.beginFetch()
		q.out = append(q.out, f.values...)
		return f.err
	}
}

// lead makes a flight.
func (q *query) lead(s *session, key planKey, f *flight, fetch func() error) error {
	defer close(f.done)
	f.again = true // if something panics
	err := q.take()
	isShared := s.flights.depart(key, f)
	if err == nil {
		q.beginFetch()
		start := len(q.out)
		if err = fetch(); err == nil && isShared {
			f.values = append([]byte(nil), q.out[start:]...)
		}
	}
	f.err, f.again = err, q.ctx.Err() != nil
	return err
}
