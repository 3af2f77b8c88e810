// Package turns shares a resource with a limited number of places among clients, so that a heavy
// user does not keep the others waiting.
package turns

import (
	"container/heap"
	"sync"
	"time"
)

// A Queue has a number of places, and the turns that wait for one. Clients that always wait get
// equal shares of the places' time. The next place goes to the turn that would end first in such
// shares, if it takes as long as the client's last one. So an occasional client waits for one use
// to end, not for all waiting clients.
//
// It is safe for concurrent use.
type Queue struct {
	places int

	mu      sync.Mutex
	taken   int
	waiting waiting
	waits   uint64  // how many turns have begun to wait
	unused  []*Turn // for the next, so that turns are not allocated
	// While turns wait, each use is entered here, and time is counted in use rather than
	// by a clock: a client's next turn begins where its last one ended, or now.
	now      time.Duration
	uses     map[uint64]use // by client
	forgetAt int            // how many uses there are when those that are over are forgotten
}

// keepUses is how many uses are kept at least, keepTurns how many unused turns at most.
const (
	keepUses  = 4096
	keepTurns = 64
)

// A use is when the last use of a client ended, and how long it took.
type use struct{ end, took time.Duration }

// New returns a Queue with some places.
func New(places int) *Queue { return &Queue{places: places} }

// A Turn is a client's use of a place, or its wait for one. It begins with Try or Wait and ends
// with End. Do not use it after End: it may belong to another client.
type Turn struct {
	client     uint64
	begin, end time.Duration // the end is what it will be as far as is known
	ready      chan struct{} // gets a value when a wait is over
	at         int           // index among those that wait, or hasPlace
	number     uint64        // of its wait
}

// hasPlace stands for the index of a turn that does not wait.
const hasPlace = -1

// Ready gives one value when the turn has a place, if it had to wait for it.
func (t *Turn) Ready() <-chan struct{} { return t.ready }

// Len returns the number of places in use.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// Cap returns the number of places.
func (q *Queue) Cap() int { return q.places }

// Try takes a place if one is free, and otherwise returns nil. No client waits while a place is
// free.
func (q *Queue) Try(client uint64) *Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken >= q.places {
		return nil
	}
	q.taken++
	return q.newTurn(client)
}

// Wait begins to wait for a place.
func (q *Queue) Wait(client uint64) *Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.newTurn(client)
	last := q.uses[client]
	t.begin = max(q.now, last.end)
	t.end = t.begin + last.took
	q.waits++
	t.number = q.waits
	heap.Push(&q.waiting, t)
	q.grant()
	return t
}

// newTurn returns a turn that has its place. The caller has mu.
func (q *Queue) newTurn(client uint64) *Turn {
	var t *Turn
	if last := len(q.unused) - 1; last >= 0 {
		t, q.unused = q.unused[last], q.unused[:last]
	} else {
		t = &Turn{ready: make(chan struct{}, 1)}
	}
	t.client, t.at = client, hasPlace
	return t
}

// grant gives free places to waiting clients. The caller has mu.
func (q *Queue) grant() {
	for q.taken < q.places && len(q.waiting) > 0 {
		t := heap.Pop(&q.waiting).(*Turn)
		q.taken++
		q.now = max(q.now, t.begin)
		t.ready <- struct{}{} // there is room for it
	}
}

// End ends a turn, either the wait or the use. used is the time of the use, 0 for a wait.
func (q *Queue) End(t *Turn, used time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.at != hasPlace {
		heap.Remove(&q.waiting, t.at)
	} else {
		q.enter(t.client, used)
		q.release()
	}
	select {
	case <-t.ready: // the wait ended meanwhile
	default:
	}
	if len(q.unused) < keepTurns {
		q.unused = append(q.unused, t)
	}
}

// enter notes a use while others wait. The caller has mu.
func (q *Queue) enter(client uint64, used time.Duration) {
	if len(q.waiting) == 0 || used <= 0 {
		return
	}
	if q.uses == nil {
		q.uses = map[uint64]use{}
	}
	q.uses[client] = use{max(q.now, q.uses[client].end) + used, used}
	// Time also passes for at least half a share. Otherwise an endless series of new clients could
	// keep older ones waiting forever.
	q.now += used / time.Duration(2*(len(q.waiting)+q.taken))
	q.forget()
}

// forget keeps clients that have gone from filling the memory while others wait all the
// time. The caller has mu.
func (q *Queue) forget() {
	if len(q.uses) < max(q.forgetAt, keepUses) {
		return
	}
	for client, u := range q.uses {
		if u.end <= q.now {
			delete(q.uses, client)
		}
	}
	q.forgetAt = 2 * len(q.uses)
}

// release gives the place of a turn to the next. The caller has mu.
func (q *Queue) release() {
	q.taken--
	if len(q.waiting) == 0 {
		q.forgetAll()
		return
	}
	q.grant()
}

// forgetAll forgets who used the places, because that matters only while others wait. It drops a
// map that has held many entries: clearing it would cost its size each time. The caller has mu.
func (q *Queue) forgetAll() {
	if q.forgetAt > 0 || len(q.uses) > keepTurns {
		q.uses, q.forgetAt = nil, 0
		return
	}
	clear(q.uses)
}

// grain is how much turns have to differ in their ends for the shorter to be next.
const grain = time.Millisecond

// waiting are the turns that wait, as a heap with the one that is next at its top: that
// which would end first, among those alike the one that has waited longest.
type waiting []*Turn

func (w waiting) Len() int { return len(w) }

func (w waiting) Less(i, j int) bool {
	if a, b := w[i].end/grain, w[j].end/grain; a != b {
		return a < b
	}
	return w[i].number < w[j].number
}

func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

func (w *waiting) Push(t any) {
	t.(*Turn).at = len(*w)
	*w = append(*w, t.(*Turn))
}

func (w *waiting) Pop() any {
	last := len(*w) - 1
	t := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	t.at = hasPlace
	return t
}
