package tool

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// AppendValue appends the text of the value at index i of a set to b. The metric's type is t. A value that is not of
// that type, since its agent is wrong, is printed as a word of unknown type if it was sent in place, as words of 32 bits
// are, and as bytes otherwise. The counterpart of pmPrintValue(3).
func AppendValue(b []byte, f pmapi.ValueFormat, s pdu.ValueSet, i int, t pdu.Type) []byte {
	a := s.Atom(i, t)
	if a.Type == t {
		return f.Append(b, a)
	}
	// A word in place has any type of 32 bits that it is read as; a block keeps its own.
	if word, err := pdu.As[uint32](s.Atom(i, pdu.TypeU32)); err == nil && s.Atom(i, pdu.Type32).Type != s.Atom(i, pdu.TypeU32).Type {
		return f.AppendWord(b, word)
	}
	if a.Type == pdu.TypeString {
		a = pdu.Aggregate(append(slices.Clip(a.Bytes()), 0)) // as on the wire
	}
	return f.Append(b, asBytes(a))
}

// AppendParameter is AppendValue for a parameter of an event record, whose metric's type is t.
func AppendParameter(b []byte, f pmapi.ValueFormat, a pdu.Atom, t pdu.Type) []byte {
	if a.Type == t {
		return f.Append(b, a)
	}
	if a.Type != pdu.Type32 && a.Type != pdu.TypeU32 {
		return f.Append(b, asBytes(a))
	}
	v, _ := pdu.As[int64](a)
	switch word := uint32(v); t {
	case pdu.Type32:
		return f.Append(b, pdu.Int32(int32(word)))
	case pdu.TypeU32:
		return f.Append(b, pdu.Uint32(word))
	case pdu.TypeFloat:
		return f.Append(b, pdu.Float32(math.Float32frombits(word)))
	default:
		return f.AppendWord(b, word)
	}
}

// asBytes makes an aggregate of the bytes of a value, in the order of this machine. A malformed value stays what it is.
func asBytes(a pdu.Atom) pdu.Atom {
	order := binary.NativeEndian
	switch a.Type {
	case pdu.Type32, pdu.TypeU32:
		v, _ := pdu.As[int64](a)
		return pdu.Aggregate(order.AppendUint32(nil, uint32(v)))
	case pdu.Type64:
		v, _ := pdu.As[int64](a)
		return pdu.Aggregate(order.AppendUint64(nil, uint64(v)))
	case pdu.TypeU64:
		v, _ := pdu.As[uint64](a)
		return pdu.Aggregate(order.AppendUint64(nil, v))
	case pdu.TypeFloat:
		v, _ := pdu.As[float32](a)
		return pdu.Aggregate(order.AppendUint32(nil, math.Float32bits(v)))
	case pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		return pdu.Aggregate(order.AppendUint64(nil, math.Float64bits(v)))
	case pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return pdu.Aggregate(a.Bytes())
	}
	return a
}
