package pdu

import "math"

// An Atom is one value with its type. Numbers are held in place; the bytes of
// strings, aggregates and event arrays alias their source (a Result's buffer,
// say), are read-only and live as long as that does. The zero Atom is the
// 32-bit 0. It is pmAtomValue of the C library with its type.
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
