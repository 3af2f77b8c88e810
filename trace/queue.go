package trace

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// A queue is a ring of data that goroutines put in without a lock and that one
// goroutine takes out. put never waits: not for another put either. Each slot
// has a sequence number, which says whose turn it is: that of the put of
// position n if it is n, that of the take if it is n+1.
type queue struct {
	_       [64]byte
	tail    atomic.Uint64 // next position to put; closedBit: no more puts
	_       [56]byte
	idle    atomic.Bool // the taker sleeps until wake
	_       [60]byte
	head    uint64        // next position to take; the taker's alone
	dropped atomic.Uint64 // puts that found no room, or the queue closed
	wake    chan struct{}
	slots   []slot // a power of two
}

// A slot holds the tag itself: the caller's string may be part of a large one,
// which should not live on.
type slot struct {
	seq   atomic.Uint64
	value float64
	kind  tracewire.Kind
	len   uint8
	tag   [MaxTag]byte
}

// closedBit is set in tail by close, so that tail moves no more.
const closedBit = 1 << 63

// newQueue returns a queue with room for n data or some more.
func newQueue(n int) *queue {
	q := &queue{wake: make(chan struct{}, 1), slots: make([]slot, 1<<bits.Len(uint(max(n, minQueue)-1)))}
	for i := range q.slots {
		q.slots[i].seq.Store(uint64(i))
	}
	return q
}

// put appends a datum whose tag is of 1 to MaxTag bytes, or counts it as dropped.
func (q *queue) put(kind tracewire.Kind, value float64, tag string) {
	mask := uint64(len(q.slots) - 1)
	for {
		pos := q.tail.Load()
		s := &q.slots[pos&mask]
		if pos&closedBit != 0 {
			break
		}
		switch turn := s.seq.Load() - pos; {
		case turn == 0:
			if !q.tail.CompareAndSwap(pos, pos+1) {
				continue
			}
			s.kind, s.value, s.len = kind, value, uint8(len(tag))
			copy(s.tag[:], tag)
			s.seq.Store(pos + 1)
			if q.idle.Load() && q.idle.CompareAndSwap(true, false) || pos&(mask>>1) == mask>>1 {
				q.wakeUp() // at every half turn the taker should hurry
			}
			return
		case turn > math.MaxInt64: // still the take of the turn before
			q.dropped.Add(1)
			return
		}
	}
	q.dropped.Add(1)
}

// wakeUp ends the taker's wait, or the next one.
func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// peek is the n-th slot to take, nil if it has not been put. The taker calls it.
func (q *queue) peek(n uint64) *slot {
	pos := q.head + n
	if s := &q.slots[pos&uint64(len(q.slots)-1)]; s.seq.Load() == pos+1 {
		return s
	}
	return nil
}

// take gives the first n slots, which peek has returned, back for puts.
func (q *queue) take(n uint64) {
	for range n {
		q.slots[q.head&uint64(len(q.slots)-1)].seq.Store(q.head + uint64(len(q.slots)))
		q.head++
	}
}

// accepted is the number of data that were put.
func (q *queue) accepted() uint64 { return q.tail.Load() &^ closedBit }

// close makes later puts count as dropped.
func (q *queue) close() {
	q.tail.Or(closedBit)
	q.wakeUp()
}
