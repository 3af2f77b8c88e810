package pmda

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

var be = binary.BigEndian

// An eventPos is a position in the stream of all records of a queue. The stream only grows.
type eventPos struct {
	bytes   uint64 // number of bytes before the position
	records uint64
	events  uint64 // a record of missed events counts as their number
}

// An eventRing has the latest records of a stream, each encoded as in an event array.
//
// All lengths are multiples of 4, so the end of buf may split a record but never a word.
type eventRing struct {
	buf   []byte
	start int      // where in buf the first record begins
	first eventPos // of the oldest record that is left
	end   eventPos // after the newest record
}

// used returns the number of bytes of all records.
func (q *eventRing) used() int { return int(q.end.bytes - q.first.bytes) }

// makeRoom grows buf to at least n bytes. most limits its length.
func (q *eventRing) makeRoom(n, most int) {
	if n <= len(q.buf) {
		return
	}
	const least = 4 << 10
	grown := make([]byte, 0, min(max(2*len(q.buf), n, least), most))
	grown = q.appendSince(grown, q.first)
	q.buf, q.start = grown[:cap(grown)], 0
}

// add appends a record, which stands for the given number of events. The caller has made room for
// it.
func (q *eventRing) add(rec []byte, events int) {
	at := q.wrap(q.start + q.used())
	n := copy(q.buf[at:], rec)
	copy(q.buf, rec[n:])
	q.end.bytes += uint64(len(rec))
	q.end.records++
	q.end.events += uint64(events)
}

// wrap converts an index that may be beyond the end of buf to one into buf.
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
	// A record is not longer than buf, so an index into it wraps at most once.
	n, events := eventSize(head, func(off int) uint32 { return q.word(q.start + off) })
	q.dropTo(eventPos{q.first.bytes + uint64(n), q.first.records + 1, q.first.events + uint64(events)})
}

// dropTo removes the records before a position.
func (q *eventRing) dropTo(p eventPos) {
	q.start = q.wrap(q.start + int(p.bytes-q.first.bytes))
	q.first = p
}

// appendSince appends the records from a position on to b.
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

// eventSize returns the length of a record, and the number of events that it stands for. head is
// the length of the record's head, and word reads a word of the record.
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

// The lengths of the head of a record, which precedes the parameters: time, flags and number of
// parameters.
const (
	eventHead        = 16
	eventHeadHighRes = 24
)

// grow makes a buffer n bytes longer. added are the new bytes.
func grow(b []byte, n int) (all, added []byte) {
	at := len(b)
	all = slices.Grow(b, n)[:at+n]
	return all, all[at:]
}
