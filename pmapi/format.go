package pmapi

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
)

// AtomStr is a short text for a value of any type: 42, 1.500000e+00, "text",
// [type=AGGREGATE len=4] 00000000, [2 event records]. Long values are cut. It is
// pdu.Atom's String, under the name that readers of the guides look for: the
// counterpart of pmAtomStr(3).
func AtomStr(a pdu.Atom) string { return a.String() }

// AppendAtom appends AtomStr to b.
func AppendAtom(b []byte, a pdu.Atom) []byte { return a.AppendTo(b) }

// FormatValue is a value as tools print it, in a field of at least width bytes:
// a ValueFormat of that width.
func FormatValue(a pdu.Atom, width int) string {
	var buf [64]byte
	return string(AppendValue(buf[:0], a, width))
}

// AppendValue appends FormatValue to b.
func AppendValue(b []byte, a pdu.Atom, width int) []byte {
	return ValueFormat{Width: width}.Append(b, a)
}

// A ValueFormat says how to print values. Its zero value prints
//
//	integers            -42
//	floats, doubles     with at most 8 or 16 digits: 0.1, 1e+20, inf
//	strings             "in quotes"
//	aggregates          all that the bytes may be, in the order of this machine: as 8 bytes an
//	                    integer and a double, as 4 a float, printable ones a string; then [hexadecimal]
//	events              [3 event records (7 missed) timestamps 10:50:41.555...10:50:44.555]
//
// and for an atom that is no value what AtomStr gives. Times have 9 decimals
// where the records do.
//
// The counterpart of pmPrintValue(3). That one stops at the first missed record
// of an event array, which it counts again for each that follows; this one
// counts every missed event, and shows the times of the first and of the last
// record.
type ValueFormat struct {
	// Width is the least number of bytes. Blanks go in front; behind numbers if it
	// is below 0. It applies to each part of an aggregate, and not to events.
	Width int
	// SquashBlanks prints every white-space character of a string as a blank,
	// which PCP 7 does if PCP_SQUASH_NEWLINES is in the environment.
	SquashBlanks bool
	// Location is that of the times; nil is time.Local.
	Location *time.Location
}

// Append appends the value to b.
func (f ValueFormat) Append(b []byte, a pdu.Atom) []byte {
	start := len(b)
	switch a.Type {
	case pdu.Type32, pdu.Type64, pdu.TypeU32, pdu.TypeU64:
		b = a.AppendTo(b)
	case pdu.TypeFloat, pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		b = cnum.AppendG(b, v, realDigits(a.Type))
	case pdu.TypeString:
		return f.appendString(b, a.Bytes())
	case pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return f.appendBytes(b, a.Bytes())
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		return f.appendEvents(b, a)
	default:
		b = a.AppendTo(b)
	}
	return cnum.Pad(b, start, f.Width)
}

func realDigits(t pdu.Type) int {
	if t == pdu.TypeFloat {
		return 8
	}
	return 16
}

// AppendWord appends a value that travelled in place while its metric's type is
// not known (as pdu.Type32 it is what pdu.ValueSet's Atom takes it for): as an
// unsigned integer, as a float unless it is none, and in hexadecimal. It is
// pmPrintValue(3) for PM_TYPE_UNKNOWN; a block has a type to print it by.
func (f ValueFormat) AppendWord(b []byte, word uint32) []byte {
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

// pad makes a field of what b has from start on.
func (f ValueFormat) pad(b []byte, start int) []byte { return cnum.Pad(b, start, f.Width) }

// padText is pad for what never has blanks behind.
func (f ValueFormat) padText(b []byte, start int) []byte {
	return cnum.Pad(b, start, max(f.Width, 0))
}

// appendFloat appends one part of a value that starts at start, unless v is not
// a number.
func (f ValueFormat) appendFloat(b []byte, start int, v float64, digits int) []byte {
	if math.IsNaN(v) {
		return b
	}
	b = part(b, start)
	at := len(b)
	return f.pad(cnum.AppendG(b, v, digits), at)
}

// part appends the blank between parts of a value that starts at start.
func part(b []byte, start int) []byte {
	if len(b) > start {
		b = append(b, ' ')
	}
	return b
}

// appendString appends text up to its first NUL, in quotes.
func (f ValueFormat) appendString(b, text []byte) []byte {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	start := len(b)
	b = append(append(append(b, '"'), text...), '"')
	if f.SquashBlanks {
		for i, c := range b[start:] {
			if strings.IndexByte(cnum.Blanks, c) >= 0 {
				b[start+i] = ' '
			}
		}
	}
	return f.padText(b, start)
}

// appendBytes appends all that data may be.
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
		b = f.appendString(part(b, start), data)
	}
	b = part(b, start)
	at := len(b)
	b = append(hex.AppendEncode(append(b, '['), data), ']')
	return f.padText(b, at)
}

// unprintable reports whether a byte, which is what those of a character of more
// than one are, is none that isprint(3) accepts.
func unprintable(r rune) bool { return r < ' ' || r > '~' }

// appendEvents appends how many events there are, and when. Of a malformed
// array only the head counts.
func (f ValueFormat) appendEvents(b []byte, a pdu.Atom) []byte {
	e, err := a.Events()
	if err != nil || e.Len() == 0 {
		return a.AppendTo(b)
	}
	var first, last pdu.EventRecord
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

// appendTime appends the time of day of a record.
func (f ValueFormat) appendTime(b []byte, t time.Time, of pdu.Type) []byte {
	if t.IsZero() { // what a record says whose time is 0
		t = time.Unix(0, 0)
	}
	layout := "15:04:05.000"
	if of == pdu.TypeHighResEvent {
		layout = "15:04:05.000000000"
	}
	return t.In(cmp.Or(f.Location, time.Local)).AppendFormat(b, layout)
}
