package webapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A streamKey identifies a stream. Its viewers have these values in common.
type streamKey struct {
	spec     string
	login    login
	interval time.Duration
}

// A watch is a metric of a viewer, which is fetched at every so many intervals of the stream.
type watch struct {
	name  string
	every uint64
}

// streams holds the streams that have viewers.
type streams struct {
	limits limits

	mu        sync.Mutex
	byKey     map[streamKey]*stream
	perClient map[netip.Addr]int
	viewers   int
	closed    bool
	running   sync.WaitGroup
}

// live streams the values of metrics as server-sent events, every interval seconds, until the
// client disconnects. A name may end in @N, so that its metric is fetched every N intervals. All
// viewers of a source at an interval share one context and one fetch for each interval.
//
// The event meta describes metrics and names instances by number. It comes first, and again when
// there are new ones. The event values has the time and, for each fetched metric, alternating
// instance numbers and values, or null without values. The event failure says why a whole fetch
// failed.
//
// A new viewer first gets the events that the stream keeps. A viewer that returns with
// Last-Event-ID gets the events that it missed. A viewer that reads too slowly misses some.
func (q *query) live() error {
	key, watches, err := q.streamKey()
	if err != nil {
		return err
	}
	open, l, err := q.source()
	if err != nil {
		return err
	}
	key.login = l
	client := q.clientAddr()
	s, err := q.g.streams.join(q.g, client, key, watches, open)
	if err != nil {
		return err
	}
	defer q.g.streams.leave(client, s, watches)
	q.streamed = true
	q.watch(s, watches)
	return nil
}

// liveIntervals are the possible intervals of streams, in units of LiveInterval. A requested
// interval is rounded up, to at most the last of them.
var liveIntervals = [...]float64{1, 2, 5, 10, 30, 60}

// streamKey reads the parameters of a stream.
func (q *query) streamKey() (key streamKey, watches []watch, err error) {
	if watches, err = q.liveNames(); err != nil {
		return key, nil, err
	}
	interval := time.Second
	if text, ok := q.params.get("interval"); ok {
		if interval, err = seconds("interval", text); err != nil {
			return key, nil, err
		}
	}
	shortest := q.g.limits.LiveInterval
	i, _ := slices.BinarySearch(liveIntervals[:], float64(interval)/float64(shortest))
	key.interval = time.Duration(liveIntervals[min(i, len(liveIntervals)-1)] * float64(shortest))
	_, key.spec, _ = q.params.first("hostspec", "hostname")
	return key, watches, nil
}

// liveNames returns the metrics of the parameter names, sorted and without duplicates.
func (q *query) liveNames() ([]watch, error) {
	_, list, _ := q.params.first("names", "name")
	var all []watch
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		name, text, ok := strings.Cut(item, "@")
		w := watch{name, 1}
		if ok {
			n, err := strconv.ParseUint(text, 10, 8)
			if err != nil || n == 0 {
				return nil, badRequest("invalid name: " + item)
			}
			w.every = n
		}
		if len(all) == maxLiveNames {
			return nil, errTooMany
		}
		all = append(all, w)
	}
	if len(all) == 0 {
		return nil, badRequest("required parameter is missing: names")
	}
	slices.SortStableFunc(all, func(a, b watch) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b watch) bool { return a.name == b.name }), nil
}

// seconds parses a parameter that is a positive number of seconds.
func seconds(name, text string) (time.Duration, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || v > 9e9 {
		return 0, badRequest("invalid " + name + ": " + text)
	}
	return time.Duration(v * float64(time.Second)), nil
}

// join returns the stream of a key for a new viewer, and starts it if necessary.
func (t *streams) join(g *Gateway, client netip.Addr, key streamKey, watches []watch, open opener) (*stream, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byKey[key]
	switch {
	case t.closed:
		return nil, &failure{http.StatusServiceUnavailable, "the gateway is shutting down"}
	case t.viewers >= t.limits.MaxViewers, s == nil && len(t.byKey) >= t.limits.MaxStreams:
		return nil, &failure{http.StatusServiceUnavailable, "too many viewers"}
	case t.perClient[client] >= t.limits.MaxViewersPerClient:
		return nil, &failure{http.StatusTooManyRequests, "too many viewers of this client"}
	case t.byKey == nil:
		t.byKey, t.perClient = map[streamKey]*stream{}, map[netip.Addr]int{}
	}
	isNew := s == nil
	if isNew {
		s = newStream(g, key, open)
	}
	if !s.add(watches) {
		return nil, &failure{http.StatusServiceUnavailable, "too many metrics are watched"}
	}
	if isNew {
		t.byKey[key] = s
		t.running.Go(s.run)
	}
	s.viewers++
	t.viewers++
	t.perClient[client]++
	return s, nil
}

// leave removes a viewer, and ends the stream with the last one.
func (t *streams) leave(client netip.Addr, s *stream, watches []watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewers--
	if t.perClient[client]--; t.perClient[client] == 0 {
		delete(t.perClient, client)
	}
	s.remove(watches)
	if s.viewers--; s.viewers == 0 {
		s.cancel()
		delete(t.byKey, s.key)
	}
}

// close ends all streams and waits for them.
func (t *streams) close() {
	t.mu.Lock()
	t.closed = true
	for _, s := range t.byKey {
		s.cancel()
	}
	t.mu.Unlock()
	t.running.Wait()
}

var eventType = []string{"text/event-stream"}

// liveHead sets the content type of events.
func (q *query) liveHead() error {
	q.text = eventType[0]
	return nil
}

// watch sends the events of a stream until the client disconnects, the stream ends, or a write
// takes too long.
func (q *query) watch(s *stream, watches []watch) {
	h := q.w.Header()
	q.setHeaders()
	h["Content-Type"] = eventType
	h["X-Accel-Buffering"] = []string{"no"} // for reverse proxies
	q.w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(q.w)
	_ = rc.SetReadDeadline(time.Time{}) // the server's deadline is for the request; an error means that there is none
	at, meta := s.position(q.r.Header.Get("Last-Event-ID")), uint64(0)
	for {
		_ = rc.SetWriteDeadline(time.Now().Add(liveWriteTimeout))
		_ = rc.Flush()
		events, err := s.next(q.r.Context(), at)
		if err != nil {
			return
		}
		q.out, meta = s.plan.appendMetaEvent(q.out[:0], watches, meta)
		_ = rc.SetWriteDeadline(time.Now().Add(liveWriteTimeout))
		if _, err := q.w.Write(q.out); err != nil {
			return
		}
		for _, e := range events {
			if err := e.write(q.w, watches); err != nil {
				return
			}
			at = e.number
		}
		if cap(q.out) > keepMeta {
			q.out = nil
		}
	}
}
