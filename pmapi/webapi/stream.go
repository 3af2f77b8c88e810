package webapi

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A stream fetches metrics at an interval for all its viewers.
type stream struct {
	key     streamKey
	g       *Gateway
	open    opener
	viewers int // guarded by the lock of streams
	ctx     context.Context
	cancel  context.CancelFunc
	id      uint64        // distinguishes streams in Last-Event-ID
	wake    chan struct{} // has an element if fresh is not empty
	plan    livePlan

	mu      sync.Mutex
	watches map[watch]int   // number of viewers of each watch
	watched map[string]int  // number of viewers of each metric
	fresh   map[string]bool // metrics that have not been fetched yet
	recent  []*liveEvent    // with consecutive numbers
	size    int             // of recent, in bytes
	more    chan struct{}   // closed when there is a new event
}

// A liveEvent is the result of one fetch, ready to be sent.
type liveEvent struct {
	number  uint64
	id      []byte            // the line for Last-Event-ID
	failure []byte            // sent instead of values
	time    []byte            // of the values
	values  map[string][]byte // members of a JSON object, by name
	size    int
}

func newStream(g *Gateway, key streamKey, open opener) *stream {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	s := &stream{key: key, g: g, open: open, id: binary.BigEndian.Uint64(b[:]), more: make(chan struct{}), wake: make(chan struct{}, 1),
		watches: map[watch]int{}, watched: map[string]int{}, fresh: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// add adds the metrics that a viewer watches. It returns false beyond the limit.
func (s *stream) add(watches []watch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	others := 0
	for _, w := range watches {
		if s.watched[w.name] == 0 {
			others++
		}
	}
	if len(s.watched)+others > maxWatched {
		return false
	}
	for _, w := range watches {
		s.watches[w]++
		if s.watched[w.name]++; s.watched[w.name] == 1 {
			s.fresh[w.name] = true
		}
	}
	if others > 0 {
		select {
		case s.wake <- struct{}{}:
		default: // run will already wake up
		}
	}
	return true
}

// remove undoes add.
func (s *stream) remove(watches []watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range watches {
		if s.watches[w]--; s.watches[w] == 0 {
			delete(s.watches, w)
		}
		if s.watched[w.name]--; s.watched[w.name] == 0 {
			delete(s.watched, w.name)
			delete(s.fresh, w.name)
		}
	}
}

// due returns the metrics to fetch at a beat. Beat 0 means only those that have not been fetched
// yet.
func (s *stream) due(beat uint64) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.watched))
	for name := range s.fresh {
		names = append(names, name)
	}
	clear(s.fresh)
	if beat > 0 {
		for w := range s.watches {
			if (beat-1)%w.every == 0 {
				names = append(names, w.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isWatched reports whether a viewer watches a metric.
func (s *stream) isWatched(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[name] > 0
}

// run fetches until the stream is cancelled.
func (s *stream) run() {
	q := &query{g: s.g, s: &session{}}
	defer func() {
		if q.s.c != nil {
			_ = q.s.c.Close()
		}
	}()
	tick := time.NewTicker(s.key.interval)
	defer tick.Stop()
	beat, extra := uint64(1), false
	for number := uint64(1); ; number++ {
		due := uint64(0)
		if !extra {
			due, beat = beat, beat+1
			s.plan.forget(s.isWatched)
		}
		if names := s.due(due); len(names) > 0 {
			s.publish(s.fetch(q, names, number))
		} else {
			number--
		}
		select {
		case <-tick.C:
			extra = false
		case <-s.wake:
			extra = true
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *stream) fetch(q *query, names []string, number uint64) *liveEvent {
	ctx, cancel := context.WithTimeout(s.ctx, s.g.limits.RequestTimeout)
	defer cancel()
	q.ctx = ctx
	e := &liveEvent{number: number, values: make(map[string][]byte, len(names))}
	e.id = strconv.AppendUint(append(e.id, "id: "...), s.id, 36)
	e.id = append(strconv.AppendUint(append(e.id, '-'), number, 10), '\n')
	err := s.connect(q)
	if err == nil {
		err = s.plan.fetch(q, names)
	}
	if err != nil {
		if errors.Is(err, pdu.ErrIPC) {
			q.s.lost = true
		}
		e.failure = append(appendString([]byte("event: failure\ndata: {\"message\":"), message(err)), "}\n\n"...)
		e.size = len(e.failure)
		return e
	}
	e.time = appendSeconds(nil, q.s.result.Time)
	var all []byte
	ends := make([]int, len(names))
	for i := range names {
		all = s.plan.appendValues(q, all, i)
		ends[i] = len(all)
	}
	start := 0
	for i, end := range ends {
		e.values[names[i]] = all[start:end]
		start = end
	}
	e.size = len(all) + eventOverhead
	return e
}

// write sends the values of the watched metrics to a viewer. It writes nothing if the event has
// none of them.
func (e *liveEvent) write(w io.Writer, watches []watch) error {
	if e.failure != nil {
		_, err := w.Write(append(slices.Clone(e.id), e.failure...))
		return err
	}
	var head [128]byte
	separator := append(append(append(append(head[:0], e.id...), "event: values\ndata: {\"t\":"...), e.time...), `,"v":{`...)
	any := false
	for _, watch := range watches {
		v := e.values[watch.name]
		if v == nil {
			continue
		}
		if _, err := w.Write(separator); err != nil {
			return err
		}
		if _, err := w.Write(v); err != nil {
			return err
		}
		separator, any = append(separator[:0], ','), true
	}
	if !any {
		return nil
	}
	_, err := io.WriteString(w, "}}\n\n")
	return err
}

// message returns the text of an error for viewers.
func message(err error) string {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.message
	}
	if err == errNoMetric {
		return err.Error()
	}
	return text(err)
}

// connect opens the context, or reconnects it.
func (s *stream) connect(q *query) (err error) {
	switch {
	case q.s.c == nil:
		q.s.c, err = s.open(q.ctx)
	case q.s.lost:
		if err = q.s.c.Reconnect(q.ctx); err == nil {
			q.s.lost = false
			s.plan.stale = true
		}
	}
	return err
}

// publish hands an event to all viewers.
func (s *stream) publish(e *liveEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = append(s.recent, e)
	s.size += e.size
	for len(s.recent) > maxRecent || s.size > maxRecentBytes && len(s.recent) > 1 {
		s.size -= s.recent[0].size
		s.recent[0] = nil
		s.recent = s.recent[1:]
	}
	close(s.more)
	s.more = make(chan struct{})
}

// position returns the number of the viewer's last event, or 0 for a new viewer.
func (s *stream) position(lastID string) uint64 {
	id, number, _ := strings.Cut(lastID, "-")
	if id != strconv.FormatUint(s.id, 36) {
		return 0
	}
	n, _ := strconv.ParseUint(number, 10, 64)
	return n
}

// next waits for events after a number, where 0 means a new viewer. A viewer whose next event is no
// longer kept gets only the latest.
func (s *stream) next(ctx context.Context, after uint64) ([]*liveEvent, error) {
	for {
		s.mu.Lock()
		recent, more := s.recent, s.more
		if n := len(recent); n > 0 && recent[n-1].number > after {
			first := 0
			if oldest := recent[0].number; after >= oldest {
				first = int(after - oldest + 1)
			} else if after > 0 {
				first = n - 1
			}
			recent = slices.Clone(recent[first:])
			s.mu.Unlock()
			return recent, nil
		}
		s.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}
