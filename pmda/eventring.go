package pmda

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

var be = binary.BigEndian

// An eventPos is a place in the stream of all records of a queue, which only grows.
type eventPos struct {
	bytes   uint64 // before it
	records uint64
	events  uint64 // a record of missed events counts as many
}

// An eventRing has the latest records of a stream, each as it is in an event array.
//
// All lengths are multiples of 4, so that the end of buf splits records but no word.
type eventRing struct {
	buf   []byte
	start int      // where in buf the first record begins
	first eventPos // the oldest record that is left
	end   eventPos // behind the newest one
}

// used is the number of bytes of all records.
func (q *eventRing) used() int { return int(q.end.bytes - q.first.bytes) }

// makeRoom makes buf hold n bytes in all, if it is shorter.
func (q *eventRing) makeRoom(n, most int) {
	if n <= len(q.buf) {
		return
	}
	const least = 4 << 10
	grown := make([]byte, 0, min(max(2*len(q.buf), n, least), most))
	grown = q.appendSince(grown, q.first)
	q.buf, q.start = grown[:cap(grown)], 0
}

// add appends a record for which there is room. It stands for so many events.
func (q *eventRing) add(rec []byte, events int) {
	at := q.wrap(q.start + q.used())
	n := copy(q.buf[at:], rec)
	copy(q.buf, rec[n:])
	q.end.bytes += uint64(len(rec))
	q.end.records++
	q.end.events += uint64(events)
}

// wrap makes an index into buf of one that may be beyond its end.
func (q *eventRing) wrap(at int) int {
	if at >= len(q.buf) {
		at -= len(q.buf)
	}
	return at
}

// word reads the word at an index that may be beyond the end of buf.
func (q *eventRing) word(at int) uint32 { return be.Uint32(q.buf[q.wrap(at):]) }

// dropFirst removes the oldest record.
func (q *eventRing) dropFirst(head int) {
	// A record is less than buf, so an index in it is beyond the end of buf at most once.
	n, events := eventSize(head, func(off int) uint32 { return q.word(q.start + off) })
	q.dropTo(eventPos{q.first.bytes + uint64(n), q.first.records + 1, q.first.events + uint64(events)})
}

// dropTo removes the records before a place.
func (q *eventRing) dropTo(p eventPos) {
	q.start = q.wrap(q.start + int(p.bytes-q.first.bytes))
	q.first = p
}

// appendSince appends to b the records from a place on.
func (q *eventRing) appendSince(b []byte, p eventPos) []byte {
	n := int(q.end.bytes - p.bytes)
	if n == 0 {
		return b
	}
	at := q.wrap(q.start + int(p.bytes-q.first.bytes))
	b = slices.Grow(b, n)
	if part := len(q.buf) - at; part < n {
		return append(append(b, q.buf[at:]...), q.buf[:n-part]...)
	}
	return append(b, q.buf[at:at+n]...)
}

// eventSize is the length of a record whose head has a length, of which word reads a
// word, and the number of events for which it stands.
func eventSize(head int, word func(off int) uint32) (n, events int) {
	params := int(word(head - 4))
	if pdu.EventFlags(word(head-8))&pdu.EventMissed != 0 {
		return head, params
	}
	n = head
	for range params {
		n += 4 + wire.Pad4(int(word(n+4)&0xffffff))
	}
	return n, 1
}

// The lengths of what precedes the parameters of a record: time, flags and number of
// parameters.
const (
	eventHead        = 16
	eventHeadHighRes = 24
)

// grow makes a buffer n bytes longer. added are these bytes.
func grow(b []byte, n int) (all, added []byte) {
	at := len(b)
	all = slices.Grow(b, n)[:at+n]
	return all, all[at:]
}
