package pdu

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
)

// An EventBuilder makes a value of TypeEvent, or of TypeHighResEvent if HighRes
// is set: Begin starts a record, Param adds a parameter to it, and Atom returns
// the value (whose Bytes a metric of an agent returns as its []byte). After the
// first failure the builder ignores what is added, and Atom returns the error. The
// zero value is ready for use; after Reset a builder allocates nothing unless the
// value is longer than before. One goroutine at a time.
type EventBuilder struct {
	HighRes bool // set before the first record

	buf   []byte // the array without the number of records
	n     int    // records
	count int    // where the record's number of parameters is in buf, 0 for none
	err   error
}

// Reset removes all records and the error. It invalidates every Atom returned before.
func (e *EventBuilder) Reset() { e.buf, e.n, e.count, e.err = e.buf[:0], 0, 0, nil }

// Len is the number of records.
func (e *EventBuilder) Len() int { return e.n }

// Err returns the first failure, or nil.
func (e *EventBuilder) Err() error { return e.err }

// Begin starts a record. Unless HighRes is set its time is truncated to
// microseconds, and seconds beyond 32 bits are ErrTooBig. The flag EventMissed is
// ErrConv: use Missed.
func (e *EventBuilder) Begin(t time.Time, f EventFlags) {
	if f&EventMissed != 0 {
		e.fail("flags %v: %w", f, ErrConv)
		return
	}
	e.addRecord(t, f, 0)
}

// Missed adds a record that stands for n lost events.
func (e *EventBuilder) Missed(t time.Time, n int) {
	if n < 0 || n > math.MaxInt32 {
		e.fail("%d missed events: %w", n, ErrTooBig)
		return
	}
	e.addRecord(t, EventMissed, n)
	e.count = 0
}

func (e *EventBuilder) addRecord(t time.Time, f EventFlags, n int) {
	var sec, nsec int64
	if !t.IsZero() {
		sec, nsec = t.Unix(), int64(t.Nanosecond())
	}
	if !e.HighRes && sec != int64(int32(sec)) {
		e.fail("time beyond 32-bit seconds: %w", ErrTooBig)
	}
	if !e.room(24) {
		return
	}
	if len(e.buf) == 0 {
		e.buf = append(e.buf, 0, 0, 0, 0)
	}
	if e.HighRes {
		e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(sec))
		e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(nsec))
	} else {
		e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(sec))
		e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(nsec/1000))
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(f))
	e.count = len(e.buf)
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(n))
	e.n++
}

// Param adds a parameter to the record. A value of a type that events cannot
// carry is ErrType.
func (e *EventBuilder) Param(id PMID, a Atom) {
	switch {
	case e.count == 0:
		e.fail("no record for %v: %w", id, ErrArg)
	case !eventParamType(a.Type):
		e.fail("parameter %v of type %v: %w", id, a.Type, ErrType)
	}
	if !e.room(8 + wire.Pad4(max(a.Type.size(), len(a.data)))) {
		return
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(id))
	head := len(e.buf)
	e.buf = append(e.buf, 0, 0, 0, 0)
	e.buf = a.appendValue(e.buf)
	binary.BigEndian.PutUint32(e.buf[head:], uint32(a.Type)<<24|uint32(len(e.buf)-head))
	for len(e.buf)%4 != 0 {
		e.buf = append(e.buf, 0)
	}
	n := e.buf[e.count:]
	binary.BigEndian.PutUint32(n, binary.BigEndian.Uint32(n)+1)
}

// room reports whether n more bytes fit a value block and nothing has failed.
func (e *EventBuilder) room(n int) bool {
	if e.err == nil && n > maxBlockLen-blockHeadLen-4-len(e.buf) {
		e.fail("%d bytes beyond the %d of a value: %w", n, maxBlockLen, ErrTooBig)
	}
	return e.err == nil
}

func (e *EventBuilder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("event record %d: "+format, append([]any{e.n}, args...)...)
	}
}

// Atom is the value with all records so far. It aliases the builder and is
// valid until the next call of Reset, Begin, Missed or Param. No records are a
// value too.
func (e *EventBuilder) Atom() (Atom, error) {
	if e.err != nil {
		return Atom{}, e.err
	}
	if len(e.buf) == 0 {
		e.buf = append(e.buf, 0, 0, 0, 0)
	}
	binary.BigEndian.PutUint32(e.buf, uint32(e.n))
	t := TypeEvent
	if e.HighRes {
		t = TypeHighResEvent
	}
	return Atom{Type: t, data: e.buf[:len(e.buf):len(e.buf)]}, nil
}
