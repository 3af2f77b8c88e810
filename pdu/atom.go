package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
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

// Bytes are the value bytes of a string (without its NUL), an aggregate or an
// event array (without its block header); nil for numbers.
func (a Atom) Bytes() []byte { return a.data }

// Equal reports whether a and b have the same type and the same bits: not a
// number equals itself, and 0 does not equal -0.
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
	switch a.Type {
	case Type32, Type64:
		return strconv.FormatInt(int64(a.bits), 10)
	case TypeU32, TypeU64:
		return strconv.FormatUint(a.bits, 10)
	case TypeFloat, TypeDouble:
		return realText(a.real())
	case TypeString:
		if len(a.data) >= 38 {
			return `"` + string(a.data[:34]) + `..."`
		}
		return `"` + string(a.data) + `"`
	case TypeAggregate, TypeAggregateStatic:
		return aggregateText(a.Type, a.data)
	case TypeEvent, TypeHighResEvent:
		if len(a.data) < 4 {
			return "[malformed event array]"
		}
		n := int32(binary.BigEndian.Uint32(a.data))
		if n == 1 {
			return "[1 event record]"
		}
		return fmt.Sprintf("[%d event records]", n)
	}
	return "[no value of type " + a.Type.String() + "]"
}

// realText is C's %e.
func realText(f float64) string {
	s := strings.ToLower(strconv.FormatFloat(f, 'e', 6, 64))
	return strings.TrimPrefix(s, "+")
}

// aggregateText shows the first 12 bytes.
func aggregateText(t Type, data []byte) string {
	var s strings.Builder
	fmt.Fprintf(&s, "[type=%v len=%d]", t, len(data))
	for i, b := range data[:min(len(data), 12)] {
		if i%4 == 0 {
			s.WriteByte(' ')
		}
		fmt.Fprintf(&s, "%02x", b)
	}
	if len(data) > 12 {
		s.WriteString(" ...")
	}
	return s.String()
}
