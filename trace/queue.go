package trace

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// A queue is a ring. Any goroutine may put data in without a lock, and one takes them out. put
// never waits, not even for another put. The sequence number of a slot is n if the put of position
// n may use it, and n+1 if the take may.
type queue struct {
	_       [64]byte
	tail    atomic.Uint64 // next position to put, and closedBit
	_       [56]byte
	idle    atomic.Bool // the taker sleeps until wake
	_       [60]byte
	head    uint64        // next position to take; used by the taker only
	dropped atomic.Uint64 // data without room, or after close
	wake    chan struct{}
	slots   []slot // the length is a power of two
}

// A slot holds a copy of the tag, because the caller's string may be part of a large one.
type slot struct {
	seq   atomic.Uint64
	value float64
	kind  tracewire.Kind
	len   uint8
	tag   [MaxTag]byte
}

// closedBit marks tail as closed, so that it no longer changes.
const closedBit = 1 << 63

// newQueue returns a queue with room for at least n data.
func newQueue(n int) *queue {
	q := &queue{wake: make(chan struct{}, 1), slots: make([]slot, 1<<bits.Len(uint(max(n, minQueue)-1)))}
	for i := range q.slots {
		q.slots[i].seq.Store(uint64(i))
	}
	return q
}

// put appends a datum with a tag of 1 to MaxTag bytes, or counts it as dropped.
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
				q.wakeUp() // also when half of the ring is filled
			}
			return
		case turn > math.MaxInt64: // the ring is full
			q.dropped.Add(1)
			return
		}
	}
	q.dropped.Add(1)
}

// wakeUp ends the current or the next wait of the taker.
func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// peek returns the n-th slot to take, or nil if it is empty. Only the taker calls it.
func (q *queue) peek(n uint64) *slot {
	pos := q.head + n
	if s := &q.slots[pos&uint64(len(q.slots)-1)]; s.seq.Load() == pos+1 {
		return s
	}
	return nil
}

// take frees the first n slots, which peek has returned.
func (q *queue) take(n uint64) {
	for range n {
		q.slots[q.head&uint64(len(q.slots)-1)].seq.Store(q.head + uint64(len(q.slots)))
		q.head++
	}
}

// accepted returns the number of data that were put.
func (q *queue) accepted() uint64 { return q.tail.Load() &^ closedBit }

// close makes later puts drop their data.
func (q *queue) close() {
	q.tail.Or(closedBit)
	q.wakeUp()
}
