package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
)

// EventFlags are bits that say what a record of an event array stands for. They
// are PM_EVENT_FLAG_* of the C library.
type EventFlags uint32

// The flags of an event record.
const (
	EventPoint  EventFlags = 0x1        // an observation
	EventStart  EventFlags = 0x2        // the start of something
	EventEnd    EventFlags = 0x4        // its end
	EventID     EventFlags = 0x8        // the first parameter identifies it
	EventParent EventFlags = 0x10       // the second parameter identifies what it belongs to
	EventMissed EventFlags = 0x80000000 // no event, but a number of lost ones
)

var eventFlagNames = [...]string{"point", "start", "end", "id", "parent"}

// String is the text that pmEventFlagsStr(3) gives: "start,id", "missed", "".
func (f EventFlags) String() string {
	if f&EventMissed != 0 {
		return "missed"
	}
	var s []string
	for i, n := range eventFlagNames {
		if f&(1<<i) != 0 {
			s = append(s, n)
		}
	}
	return strings.Join(s, ",")
}

// An EventArray is the events in a value of TypeEvent or TypeHighResEvent. The
// value's bytes, after the word with type and length, are
//
//	0  int32  nrecords
//	4  records, of
//	     int32 seconds, int32 microseconds, or in TypeHighResEvent
//	     int64 seconds, int64 nanoseconds
//	     uint32 flags
//	     int32  nparams, or the number of missed events
//	     parameters, of
//	       uint32 PMID
//	       uint8  type, uint24 length: 4 and the number of value bytes
//	       value, padded to a word
//
// All of them were checked when the array was made, so reading it cannot fail.
// It aliases the atom that it was made from. The counterpart of
// pmUnpackEventRecords(3).
type EventArray struct {
	highRes bool
	n       int
	records []byte
}

// An EventRecord is one record of an event array. It aliases the array; see Clone.
type EventRecord struct {
	Time   time.Time // zero if both parts are
	Flags  EventFlags
	Missed int // the number of lost events if Flags is EventMissed
	n      int
	params []byte
}

// Events returns the array in a. It fails with ErrType if a holds no array or a parameter has a
// type that parameters cannot have, with ErrConv if EventMissed stands beside another flag, and
// with ErrIPC for bytes that break the layout.
func (a Atom) Events() (EventArray, error) { return ParseEvents(a.Type, a.data) }

// ParseEvents returns the array in the bytes of a value of TypeEvent or TypeHighResEvent. The
// array aliases the bytes. For the errors see Atom.Events.
func ParseEvents(t Type, b []byte) (EventArray, error) {
	if t != TypeEvent && t != TypeHighResEvent {
		return EventArray{}, ErrType
	}
	c := wire.New(b, blockHeadLen)
	e := EventArray{highRes: t == TypeHighResEvent}
	e.n = c.Count(e.headLen(), "nrecords")
	e.records = b[min(4, len(b)):]
	for i := range e.n {
		if err := checkRecord(&c, e.highRes); err != nil {
			return EventArray{}, fmt.Errorf("event record %d: %w", i, err)
		}
	}
	if err := c.Done(); err != nil {
		return EventArray{}, fmt.Errorf("event array: %w: %w", err, ErrIPC)
	}
	return e, nil
}

// headLen is the length of a record without parameters.
func (e EventArray) headLen() int {
	if e.highRes {
		return 24
	}
	return 16
}

// checkRecord passes over a record.
func checkRecord(c *wire.Cursor, highRes bool) error {
	stamp := 8
	if highRes {
		stamp = 16
	}
	c.Skip(stamp, "timestamp")
	flags := EventFlags(c.Uint32("flags"))
	if flags&EventMissed != 0 {
		if c.Int32("missed events") < 0 {
			c.Fail("missed events", 4, "negative")
		}
		if flags != EventMissed {
			return fmt.Errorf("flags %#x: missed events beside other flags: %w", uint32(flags), ErrConv)
		}
	} else {
		for i := range c.Count(8, "nparams") {
			if err := checkParam(c); err != nil {
				return fmt.Errorf("parameter %d: %w", i, err)
			}
		}
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrIPC)
	}
	return nil
}

// checkParam passes over a parameter.
func checkParam(c *wire.Cursor) error {
	c.Skip(4, "PMID")
	t, n := blockHead(c.Uint32("type and length"))
	value := c.Padded(n, "value")
	if c.Err() != nil {
		return nil // the caller reports it
	}
	if !eventParamType(t) {
		return fmt.Errorf("type %v: %w", t, ErrType)
	}
	_, err := blockAtom(t, value)
	return err
}

// blockHead splits the word that heads a value block or an event parameter's
// value into type and number of value bytes.
func blockHead(w uint32) (t Type, n int) { return Type(w >> 24), int(w&0xffffff) - blockHeadLen }

// eventParamType reports whether an event parameter may have the type.
func eventParamType(t Type) bool { return t.size() > 0 || t >= TypeString && t <= TypeAggregateStatic }

// Len is the number of records.
func (e EventArray) Len() int { return e.n }

// All yields the records in their order.
func (e EventArray) All() iter.Seq[EventRecord] {
	return func(yield func(EventRecord) bool) {
		b := e.records
		for range e.n {
			var r EventRecord
			if r, b = e.next(b); !yield(r) {
				return
			}
		}
	}
}

// next splits the first record off b.
func (e EventArray) next(b []byte) (EventRecord, []byte) {
	var r EventRecord
	if e.highRes {
		r.Time = stamp(int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:])))
	} else {
		r.Time = stamp(int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))*1000)
	}
	b = b[e.headLen()-8:]
	r.Flags = EventFlags(binary.BigEndian.Uint32(b))
	n := int(binary.BigEndian.Uint32(b[4:]))
	b = b[8:]
	if r.Flags == EventMissed {
		r.Missed = n
		return r, b
	}
	r.n, r.params = n, b
	for range n {
		_, size := blockHead(binary.BigEndian.Uint32(b[4:]))
		b = b[8+wire.Pad4(size):]
	}
	r.params = r.params[:len(r.params)-len(b)]
	return r, b
}

// Clone is a copy that does not alias the array.
func (r EventRecord) Clone() EventRecord {
	r.params = bytes.Clone(r.params)
	return r
}

// Value is the first value of a metric in the record, among those that Values yields.
func (r EventRecord) Value(id PMID) (a Atom, ok bool) {
	for is, a := range r.Values() {
		if is == id {
			return a, true
		}
	}
	return Atom{}, false
}

// NumParams is the number of parameters.
func (r EventRecord) NumParams() int { return r.n }

// Params yields the parameters in their order: metric and value.
func (r EventRecord) Params() iter.Seq2[PMID, Atom] {
	return func(yield func(PMID, Atom) bool) {
		b := r.params
		for range r.n {
			t, n := blockHead(binary.BigEndian.Uint32(b[4:]))
			a, _ := blockAtom(t, b[8:8+n:8+n]) // checked by Events
			if !yield(PMID(binary.BigEndian.Uint32(b)), a) {
				return
			}
			b = b[8+wire.Pad4(n):]
		}
	}
}
