package pdu

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/internal/scan"
)

// A ValueFormat formats values as tools print them. Its zero value prints
//
//	integers            -42
//	floats, doubles     with at most 8 or 16 digits: 0.1, 1e+20, inf
//	strings             "in quotes"
//	aggregates          every meaning that the bytes can have in the order of this machine:
//	                    8 bytes as an integer and a double, 4 as a float, printable ones
//	                    as a string; then [hexadecimal]
//	events              [3 event records (7 missed) timestamps 10:50:41.555...10:50:44.555]
//
// and an atom that is no value as Atom.String does. Times of events have 3
// decimals, or 9 in TypeHighResEvent.
//
// The counterpart of pmPrintValue(3), which stops at the first record of missed
// events in an array and counts it again for each record that follows;
// ValueFormat counts every missed event, and shows the times of the first and
// the last record.
type ValueFormat struct {
	// Width is the least number of bytes. Blanks go in front of the text, or behind
	// numbers if Width is below 0. It applies to each part of an aggregate, and not
	// to events.
	Width int
	// SquashBlanks prints every white-space character of a string as a blank,
	// which PCP 7 does if PCP_SQUASH_NEWLINES is in the environment.
	SquashBlanks bool
	// Location is the time zone of the times; nil means time.Local.
	Location *time.Location
}

// Format formats a value.
func (f ValueFormat) Format(a Atom) string {
	var buf [64]byte
	return string(f.Append(buf[:0], a))
}

// Append appends Format to b. It allocates nothing that b has room for.
func (f ValueFormat) Append(b []byte, a Atom) []byte {
	start := len(b)
	switch a.Type {
	case Type32, Type64, TypeU32, TypeU64:
		b = a.AppendTo(b)
	case TypeFloat, TypeDouble:
		b = cnum.AppendG(b, a.real(), realDigits(a.Type))
	case TypeString:
		return f.appendString(b, a.text())
	case TypeAggregate, TypeAggregateStatic:
		return f.appendBytes(b, a.Bytes())
	case TypeEvent, TypeHighResEvent:
		return f.appendEvents(b, a)
	default:
		b = a.AppendTo(b)
	}
	return cnum.Pad(b, start, f.Width)
}

// realDigits is the number of digits that a float or double is printed with.
func realDigits(t Type) int {
	if t == TypeFloat {
		return 8
	}
	return 16
}

// AppendValue appends the value at index i of a set whose metric is of type t. A
// value of another type is printed as one of unknown type: one that travelled in
// place as integer, float and hexadecimal, another as the bytes that it has.
func (f ValueFormat) AppendValue(b []byte, s ValueSet, i int, t Type) []byte {
	a := s.Atom(i, t)
	if a.Type == t {
		return f.Append(b, a)
	}
	// A value in place can be read as any type of 32 bits. A block has its type in its header.
	if word, err := As[uint32](s.Atom(i, TypeU32)); err == nil && s.Atom(i, Type32).Type != s.Atom(i, TypeU32).Type {
		return f.appendWord(b, word)
	}
	if a.Type == TypeString {
		a = Aggregate(append(slices.Clip(a.data), 0)) // as on the wire
	}
	return f.Append(b, asBytes(a))
}

// AppendParam appends the parameter a of an event record. Its metric is of type
// t; AppendValue says what a value of another type is printed as. Integers of 32
// bits count as in place.
func (f ValueFormat) AppendParam(b []byte, a Atom, t Type) []byte {
	if a.Type == t {
		return f.Append(b, a)
	}
	if a.Type != Type32 && a.Type != TypeU32 {
		return f.Append(b, asBytes(a))
	}
	switch word := uint32(a.bits); t {
	case Type32:
		return f.Append(b, Int32(int32(word)))
	case TypeU32:
		return f.Append(b, Uint32(word))
	case TypeFloat:
		return f.Append(b, Float32(math.Float32frombits(word)))
	default:
		return f.appendWord(b, word)
	}
}

// asBytes returns the bytes of a value in this machine's order as an aggregate. Other atoms are
// returned unchanged.
func asBytes(a Atom) Atom {
	switch a.Type.size() {
	case 4:
		return Aggregate(binary.NativeEndian.AppendUint32(nil, uint32(a.bits)))
	case 8:
		return Aggregate(binary.NativeEndian.AppendUint64(nil, a.bits))
	}
	if a.Type >= TypeString && a.Type <= TypeAggregateStatic {
		return Aggregate(a.data)
	}
	return a
}

// appendWord appends a value that travelled in place and whose type is not
// known: as an unsigned integer, as a float unless it is not a number, and in
// hexadecimal. It is pmPrintValue(3) for PM_TYPE_UNKNOWN.
func (f ValueFormat) appendWord(b []byte, word uint32) []byte {
	start := len(b)
	b = f.pad(strconv.AppendUint(b, uint64(word), 10), start)
	b = f.appendFloat(b, start, float64(math.Float32frombits(word)), 8)
	if f.Width > 2 {
		f.Width -= 2
	}
	b = append(b, " 0x"...)
	start = len(b)
	return f.pad(strconv.AppendUint(b, uint64(word), 16), start)
}

// pad makes what b has from start on a field of Width bytes.
func (f ValueFormat) pad(b []byte, start int) []byte { return cnum.Pad(b, start, f.Width) }

// padText is pad for texts, which never have blanks behind.
func (f ValueFormat) padText(b []byte, start int) []byte {
	return cnum.Pad(b, start, max(f.Width, 0))
}

// appendFloat appends one part of a value that starts at start, unless v is not
// a number.
func (f ValueFormat) appendFloat(b []byte, start int, v float64, digits int) []byte {
	if math.IsNaN(v) {
		return b
	}
	b = appendBlank(b, start)
	at := len(b)
	return f.pad(cnum.AppendG(b, v, digits), at)
}

// appendBlank appends the blank between parts of a value that starts at start.
func appendBlank(b []byte, start int) []byte {
	if len(b) > start {
		b = append(b, ' ')
	}
	return b
}

// appendString appends text in quotes.
func (f ValueFormat) appendString(b, text []byte) []byte {
	start := len(b)
	b = append(append(append(b, '"'), text...), '"')
	if f.SquashBlanks {
		for i, c := range b[start:] {
			if strings.IndexByte(scan.Blanks, c) >= 0 {
				b[start+i] = ' '
			}
		}
	}
	return f.padText(b, start)
}

// appendBytes appends data as everything that it may be.
func (f ValueFormat) appendBytes(b, data []byte) []byte {
	start := len(b)
	switch len(data) {
	case 8:
		v := binary.NativeEndian.Uint64(data)
		b = f.pad(strconv.AppendUint(b, v, 10), start)
		b = f.appendFloat(b, start, math.Float64frombits(v), 16)
	case 4:
		b = f.appendFloat(b, start, float64(math.Float32frombits(binary.NativeEndian.Uint32(data))), 8)
	}
	if !bytes.ContainsFunc(data, unprintable) {
		b = f.appendString(appendBlank(b, start), data)
	}
	b = appendBlank(b, start)
	at := len(b)
	b = slices.Grow(b, 2*len(data)+2) // at once, with both brackets
	b = append(hex.AppendEncode(append(b, '['), data), ']')
	return f.padText(b, at)
}

// unprintable reports whether isprint(3) refuses a character, as it does those of
// more than one byte.
func unprintable(r rune) bool { return r < ' ' || r > '~' }

// appendEvents appends the number of records and the times of the first and the
// last. Of a malformed array it is the number that its head says.
func (f ValueFormat) appendEvents(b []byte, a Atom) []byte {
	e, err := a.Events()
	if err != nil || e.Len() == 0 {
		return a.AppendTo(b)
	}
	var first, last EventRecord
	missed, n := 0, 0
	for r := range e.All() {
		if n++; n == 1 {
			first = r
		}
		last = r
		missed += r.Missed
	}
	b = strconv.AppendInt(append(b, '['), int64(n), 10)
	b = append(b, " event record"...)
	if n > 1 {
		b = append(b, 's')
	}
	if missed > 0 {
		b = strconv.AppendInt(append(b, " ("...), int64(missed), 10)
		b = append(b, " missed)"...)
	}
	b = append(b, " timestamp"...)
	if n > 1 {
		b = append(b, 's')
	}
	b = f.appendTime(append(b, ' '), first.Time, a.Type)
	if n > 1 {
		b = f.appendTime(append(b, "..."...), last.Time, a.Type)
	}
	return append(b, ']')
}

// appendTime appends the time of day of a record in an array of type arrayType.
func (f ValueFormat) appendTime(b []byte, t time.Time, arrayType Type) []byte {
	if t.IsZero() { // a record whose time on the wire is 0
		t = time.Unix(0, 0)
	}
	layout := "15:04:05.000"
	if arrayType == TypeHighResEvent {
		layout = "15:04:05.000000000"
	}
	return t.In(cmp.Or(f.Location, time.Local)).AppendFormat(b, layout)
}
