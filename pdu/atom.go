package pdu

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/pcp-go/pcp/internal/cnum"
)

// An Atom is one value with its type. Numbers are held in place; the bytes of
// strings, aggregates and event arrays alias their source (a Result's buffer,
// say), are read-only and live as long as that does. The zero Atom is the
// 32-bit 0. As converts it to a Go value. It is pmAtomValue of the C library
// with its type.
type Atom struct {
	Type Type
	bits uint64 // numbers: two's complement or IEEE 754, sign-extended for Type32
	data []byte // the rest: string without its NUL, aggregate, event array without the block header
}

// Int32 is an atom of Type32.
func Int32(v int32) Atom { return Atom{Type: Type32, bits: uint64(int64(v))} }

// Uint32 is an atom of TypeU32.
func Uint32(v uint32) Atom { return Atom{Type: TypeU32, bits: uint64(v)} }

// Int64 is an atom of Type64.
func Int64(v int64) Atom { return Atom{Type: Type64, bits: uint64(v)} }

// Uint64 is an atom of TypeU64.
func Uint64(v uint64) Atom { return Atom{Type: TypeU64, bits: v} }

// Float32 is an atom of TypeFloat.
func Float32(v float32) Atom { return Atom{Type: TypeFloat, bits: uint64(math.Float32bits(v))} }

// Float64 is an atom of TypeDouble.
func Float64(v float64) Atom { return Atom{Type: TypeDouble, bits: math.Float64bits(v)} }

// String is an atom of TypeString.
func String(s string) Atom { return Atom{Type: TypeString, data: []byte(s)} }

// Aggregate is an atom of TypeAggregate that aliases b.
func Aggregate(b []byte) Atom { return Atom{Type: TypeAggregate, data: b} }

// Bytes are the value bytes of a string (all but a NUL at the end), an aggregate
// or an event array (without its block header); nil for numbers.
func (a Atom) Bytes() []byte { return a.data }

// Equal reports whether a and b have the same type and the same bits: NaN equals
// itself, and 0 does not equal -0.
func (a Atom) Equal(b Atom) bool {
	return a.Type == b.Type && a.bits == b.bits && bytes.Equal(a.data, b.data)
}

// blockAtom decodes the value bytes of a block or of an event parameter of type
// t. The atom aliases value. Errors wrap ErrIPC: bytes that do not fit the
// type, and a type that has no values.
func blockAtom(t Type, value []byte) (Atom, error) {
	if n := t.size(); n > 0 {
		if len(value) != n {
			return Atom{}, fmt.Errorf("value of type %v: %d bytes, want %d: %w", t, len(value), n, ErrIPC)
		}
		a := Atom{Type: t}
		if n == 8 {
			a.bits = binary.BigEndian.Uint64(value)
		} else if a.bits = uint64(binary.BigEndian.Uint32(value)); t == Type32 {
			a.bits = uint64(int64(int32(a.bits)))
		}
		return a, nil
	}
	switch t {
	case TypeString:
		if n := len(value); n > 0 && value[n-1] == 0 {
			value = value[:n-1]
		}
		return Atom{Type: t, data: value}, nil
	case TypeAggregate, TypeAggregateStatic, TypeEvent, TypeHighResEvent:
		return Atom{Type: t, data: value}, nil
	}
	return Atom{}, fmt.Errorf("value of type %d (%v): no such type of values: %w", int32(t), t, ErrIPC)
}

// appendValue appends the value bytes as blockAtom reads them; strings without
// a NUL.
func (a Atom) appendValue(b []byte) []byte {
	switch a.Type.size() {
	case 4:
		return binary.BigEndian.AppendUint32(b, uint32(a.bits))
	case 8:
		return binary.BigEndian.AppendUint64(b, a.bits)
	}
	return append(b, a.data...)
}

// String is a text for people, the one that pmAtomStr(3) gives: `42`,
// `1.500000e+00`, `"text"`, `[type=AGGREGATE len=4] 00000000`. Long values are
// cut.
func (a Atom) String() string {
	var buf [64]byte
	return string(a.AppendTo(buf[:0]))
}

// AppendTo appends String to b.
func (a Atom) AppendTo(b []byte) []byte {
	switch a.Type {
	case Type32, Type64:
		return strconv.AppendInt(b, int64(a.bits), 10)
	case TypeU32, TypeU64:
		return strconv.AppendUint(b, a.bits, 10)
	case TypeFloat, TypeDouble:
		return cnum.AppendE(b, a.real(), 6)
	case TypeString:
		b = append(b, '"')
		if s := a.text(); len(s) < 38 {
			b = append(b, s...)
		} else {
			b = append(append(b, s[:34]...), "..."...)
		}
		return append(b, '"')
	case TypeAggregate, TypeAggregateStatic:
		return a.appendAggregate(b)
	case TypeEvent, TypeHighResEvent:
		return a.appendEvents(b)
	case TypeNoSupport:
		return append(b, "Error: unexpected type: Not Supported"...)
	case TypeUnknown:
		return append(b, "Error: unexpected type: Unknown"...)
	}
	return strconv.AppendInt(append(b, "Error: unexpected type: Illegal type="...), int64(a.Type), 10)
}

// text is a string's bytes up to the first NUL, which ends it for a C program.
func (a Atom) text() []byte {
	if i := bytes.IndexByte(a.data, 0); i >= 0 {
		return a.data[:i]
	}
	return a.data
}

// appendAggregate shows the first 12 bytes.
func (a Atom) appendAggregate(b []byte) []byte {
	b = append(append(b, "[type="...), a.Type.String()...)
	b = strconv.AppendInt(append(b, " len="...), int64(len(a.data)), 10)
	b = append(b, ']')
	for i := range min(len(a.data), 12) {
		if i%4 == 0 {
			b = append(b, ' ')
		}
		b = hex.AppendEncode(b, a.data[i:i+1])
	}
	if len(a.data) > 12 {
		b = append(b, " ..."...)
	}
	return b
}

// appendEvents says how many events there are.
func (a Atom) appendEvents(b []byte) []byte {
	if len(a.data) < 4 {
		return append(b, "[malformed event array]"...)
	}
	n := int32(binary.BigEndian.Uint32(a.data))
	b = strconv.AppendInt(append(b, '['), int64(n), 10)
	if n == 1 {
		return append(b, " event record]"...)
	}
	return append(b, " event records]"...)
}
