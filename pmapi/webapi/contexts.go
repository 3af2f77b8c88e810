package webapi

import (
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// contexts holds the open contexts of all clients.
type contexts struct {
	limits limits
	stats  *stats

	mu        sync.Mutex
	byID      map[uint32]*session
	scraped   map[scrapeKey]*session
	perClient map[netip.Addr]int
	derived   int // memory of derived metrics, in bytes
	derivedOf map[netip.Addr]int
	sweeper   *time.Timer // runs while there are contexts
	closed    bool
	reads     sync.WaitGroup // goroutines of startRead
}

var errClosing = &failure{http.StatusServiceUnavailable, "the gateway is shutting down"}

// startRead starts a goroutine that reads a page. It returns false if the contexts are closed.
func (t *contexts) startRead(read func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.reads.Go(read)
	}
	return !t.closed
}

// reserve gives s a number and counts it for its client. Its context is opened later.
func (t *contexts) reserve(s *session) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return errClosing
	case len(t.byID) >= t.limits.MaxContexts:
		return &failure{http.StatusServiceUnavailable, "too many contexts"}
	case t.perClient[s.client] >= t.limits.MaxContextsPerClient:
		return &failure{http.StatusTooManyRequests, "too many contexts of this client"}
	case t.byID == nil:
		t.byID, t.scraped, t.perClient = map[uint32]*session{}, map[scrapeKey]*session{}, map[netip.Addr]int{}
	}
	s.turn, s.users = ctxwait.NewMutex(), 1
	for s.id == 0 || t.byID[s.id] != nil {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		s.id = binary.BigEndian.Uint32(b[:]) &^ (1 << 31)
	}
	t.byID[s.id] = s
	t.perClient[s.client]++
	if t.sweeper == nil {
		t.sweeper = time.AfterFunc(sweepEvery, t.sweep)
	}
	return nil
}

// drop removes a session and closes its context. The caller holds the lock.
func (t *contexts) drop(s *session) {
	if t.byID[s.id] != s {
		return
	}
	delete(t.byID, s.id)
	t.unlist(s)
	if t.perClient[s.client]--; t.perClient[s.client] == 0 {
		delete(t.perClient, s.client)
	}
	if s.derived > 0 {
		t.subDerived(s, s.derived)
	}
	if s.c != nil {
		_ = s.c.Close()
	}
}

// addDerived counts the memory of a derived metric, in bytes. It returns an error beyond a limit.
func (t *contexts) addDerived(s *session, size int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.byID[s.id] != s:
		return pdu.ErrNoContext
	case t.derivedOf[s.client]+size > maxDerivedPerClient:
		return &failure{http.StatusTooManyRequests, "too many derived metrics of this client"}
	case t.derived+size > maxDerived:
		return &failure{http.StatusServiceUnavailable, "too many derived metrics"}
	case t.derivedOf == nil:
		t.derivedOf = map[netip.Addr]int{}
	}
	s.derived += size
	t.derived += size
	t.derivedOf[s.client] += size
	return nil
}

// removeDerived undoes addDerived.
func (t *contexts) removeDerived(s *session, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[s.id] == s {
		t.subDerived(s, size)
	}
}

// subDerived is removeDerived for a caller that holds the lock.
func (t *contexts) subDerived(s *session, size int) {
	s.derived -= size
	t.derived -= size
	if t.derivedOf[s.client] -= size; t.derivedOf[s.client] == 0 {
		delete(t.derivedOf, s.client)
	}
}

// expire drops a session whose idle time is over. The caller holds the lock.
func (t *contexts) expire(s *session) {
	t.stats.expired.Inc()
	t.drop(s)
}

// unlist hides a session from further scrapes. The caller holds the lock.
func (t *contexts) unlist(s *session) {
	if s.scrapes != nil && t.scraped[*s.scrapes] == s {
		delete(t.scraped, *s.scrapes)
	}
}

// forScrapes returns the session that scrapes of a source share, or nil. The caller must release
// it.
func (t *contexts) forScrapes(key scrapeKey) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.scraped[key]
	if s != nil && s.isOver(time.Now()) {
		t.expire(s)
		return nil
	}
	if s != nil {
		s.users++
	}
	return s
}

// abandon hides a session from new requests. The last request that uses it closes it.
func (t *contexts) abandon(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unlist(s)
	s.temporary = true
}

// find returns the session of a context, which the request must release.
func (t *contexts) find(id uint32) (s *session, expired bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.byID[id]
	switch {
	case s == nil || s.c == nil || s.scrapes != nil:
		return nil, false
	case s.isOver(time.Now()):
		t.expire(s)
		return nil, true
	}
	s.users++
	return s, false
}

// release ends a request's use of a session.
func (t *contexts) release(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.users--
	s.expires = time.Now().Add(s.poll)
	if s.users == 0 && s.temporary || s.c == nil { // no later request can find it
		t.drop(s)
	}
}

// opened gives a session its context. If the gateway is closed, it closes the context.
func (t *contexts) opened(s *session, c *pmapi.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.c = c
	t.stats.opened.Inc()
	if s.scrapes != nil {
		if s.temporary = t.scraped[*s.scrapes] != nil; !s.temporary {
			t.scraped[*s.scrapes] = s
		}
	}
	if t.closed {
		_ = c.Close()
	}
}

// sweep closes expired contexts.
func (t *contexts) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, s := range t.byID {
		if s.isOver(now) {
			t.expire(s)
		}
	}
	t.sweeper = nil
	if len(t.byID) > 0 && !t.closed {
		t.sweeper = time.AfterFunc(sweepEvery, t.sweep)
	}
}

// close closes all contexts and waits for reads of pages.
func (t *contexts) close() {
	t.closeAll()
	t.reads.Wait()
}

func (t *contexts) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.sweeper != nil {
		t.sweeper.Stop()
	}
	for _, s := range t.byID {
		t.drop(s)
	}
}
