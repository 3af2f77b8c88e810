package pdu

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// SortInstances sorts the values of every set by instance; values of the same
// instance keep their order. No other goroutine may use r meanwhile. Sorting a
// used Result allocates nothing. The counterpart of
// pmSortInstances(3), which mixes up instances that lie 2³¹ or more apart.
func (r *Result) SortInstances() {
	for _, s := range r.All() {
		if values := r.buf[s.off:][:s.Len()*valueLen]; !sorted(values) {
			r.sort(values)
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

// sort sorts instances and words. Blocks stay where they are: a word says where.
func (r *Result) sort(values []byte) {
	r.order = r.order[:0]
	for v := values; len(v) > 0; v = v[valueLen:] {
		r.order = append(r.order, binary.BigEndian.Uint64(v))
	}
	slices.SortStableFunc(r.order, func(a, b uint64) int { return cmp.Compare(int32(a>>32), int32(b>>32)) })
	for i, v := range r.order {
		binary.BigEndian.PutUint64(values[i*valueLen:], v)
	}
}
