package lognum

import (
	"encoding/binary"
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// Untyped is the value of 64 bits at an index of a set that is in a block without a type, as there
// are in old archives; ok is false for all others. As PCP's tools it takes its bytes to be in the
// order of this computer; they are in that of the one that wrote them.
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
