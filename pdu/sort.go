package pdu

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// SortInstances sorts the values of every set by instance; values of the same instance keep their
// order. No other goroutine may use r meanwhile. Sorting allocates nothing. The counterpart of
// pmSortInstances(3), which mixes up instances that lie 2³¹ or more apart.
func (r *Result) SortInstances() {
	for _, s := range r.All() {
		if s.Len() == 0 {
			continue
		}
		if values := r.buf[s.value(0):s.value(s.Len())]; !sorted(values) {
			sortValues(values)
		}
	}
}

// sorted reports whether values are in order, as agents mostly send them.
func sorted(values []byte) bool {
	for len(values) > valueLen {
		next := values[valueLen:]
		if valueInst(values) > valueInst(next) {
			return false
		}
		values = next
	}
	return true
}

func valueInst(value []byte) InstID { return InstID(binary.BigEndian.Uint32(value)) }

// sortValues sorts instances and words. Blocks stay where they are: a word says where.
func sortValues(values []byte) {
	inst := func(v [valueLen]byte) InstID { return valueInst(v[:]) }
	slices.SortStableFunc(wire.Octets(values), func(a, b [valueLen]byte) int { return cmp.Compare(inst(a), inst(b)) })
}
