package webapi

import "sync"

// flights are fetches that wait for their turn on one context. Until a fetch begins, further
// requests for the same metrics join it. Each request still gets values that are newer than itself.
type flights struct {
	mu      sync.Mutex
	waiting map[planKey]*flight
}

// A flight is a fetch that several requests wait for.
type flight struct {
	joined int           // number of requests besides the leader
	done   chan struct{} // closed when the fields below are set
	again  bool          // the leader's request ended first: fetch again
	values []byte        // the values as in the reply
	err    error
}

// join returns the waiting flight of a key, or a new one with mine set, which the caller must lead.
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

// depart closes a flight to further requests and reports whether any has joined.
func (s *flights) depart(key planKey, f *flight) (shared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, key)
	return f.joined > 0
}

// shared fetches into q.out, or copies the result of a concurrent request for the same metrics.
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

// lead fetches for all requests that join f.
func (q *query) lead(s *session, key planKey, f *flight, fetch func() error) error {
	defer close(f.done)
	f.again = true // in case of a panic
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
