package lognum

import (
	"encoding/binary"
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// Untyped returns the 64-bit value at an index of a set if it is in a block without a type, as in
// old archives. ok is false for all others. Like PCP's tools it assumes the byte order of this
// computer. The bytes are in the order of the computer that wrote them.
func Untyped(s pdu.ValueSet, i int, t pdu.Type) (a pdu.Atom, ok bool) {
	if t != pdu.Type64 && t != pdu.TypeU64 && t != pdu.TypeDouble {
		return a, false
	}
	block := s.Atom(i, pdu.TypeAggregate) // which it is if the block has no type
	if block.Type != pdu.TypeAggregate || len(block.Bytes()) != 8 {
		return a, false
	}
	switch bits := binary.NativeEndian.Uint64(block.Bytes()); t {
	case pdu.Type64:
		return pdu.Int64(int64(bits)), true
	case pdu.TypeU64:
		return pdu.Uint64(bits), true
	default:
		return pdu.Float64(math.Float64frombits(bits)), true
	}
}
