package pdu

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// The methods here do what one call for each value would do, but make room and
// look at limits once for all, in less than half of the time. Where they only
// call a generic function they are not inlined, since the compiler would not know
// in another package that the slices do not escape.

// Int32s adds values of Type32: vs[i] is that of insts[i].
//
//go:noinline
func (w *ResultWriter) Int32s(insts []InstID, vs []int32) { addWords(w, insts, vs) }

// Uint32s adds values of TypeU32: vs[i] is that of insts[i].
//
//go:noinline
func (w *ResultWriter) Uint32s(insts []InstID, vs []uint32) { addWords(w, insts, vs) }

// Int64s adds values of Type64: vs[i] is that of insts[i].
//
//go:noinline
func (w *ResultWriter) Int64s(insts []InstID, vs []int64) { addEights(w, Type64, insts, vs) }

// Uint64s adds values of TypeU64: vs[i] is that of insts[i].
//
//go:noinline
func (w *ResultWriter) Uint64s(insts []InstID, vs []uint64) { addEights(w, TypeU64, insts, vs) }

// Float64s adds values of TypeDouble: vs[i] is that of insts[i].
func (w *ResultWriter) Float64s(insts []InstID, vs []float64) {
	insts = insts[:len(vs)]
	var bits [64]uint64
	for len(vs) > 0 {
		n := min(len(vs), len(bits))
		for i, v := range vs[:n] {
			bits[i] = math.Float64bits(v)
		}
		addEights(w, TypeDouble, insts[:n], bits[:n])
		insts, vs = insts[n:], vs[n:]
	}
}

// addWords adds values that are in their words.
func addWords[T int32 | uint32](w *ResultWriter, insts []InstID, vs []T) {
	insts = insts[:len(vs)]
	sets, _, ok := w.room(valInsitu, len(vs), 0)
	if !ok {
		for i, v := range vs {
			w.add(valInsitu, insts[i], uint32(v))
		}
		return
	}
	for i, v := range vs {
		binary.BigEndian.PutUint64(sets, uint64(uint32(insts[i]))<<32|uint64(uint32(v)))
		sets = sets[valueLen:]
	}
}

// addEights adds values of eight bytes each.
func addEights[T int64 | uint64](w *ResultWriter, t Type, insts []InstID, vs []T) {
	const each = blockHeadLen + 8
	insts = insts[:len(vs)]
	index := w.index()
	sets, blocks, ok := w.room(valDPtr, len(vs), each)
	if !ok {
		for i, v := range vs {
			w.eight(t, insts[i], uint64(v))
		}
		return
	}
	for i, v := range vs {
		binary.BigEndian.PutUint64(sets, uint64(uint32(insts[i]))<<32|uint64(index))
		index += each / 4
		b := (*[each]byte)(blocks)
		binary.BigEndian.PutUint32(b[:], uint32(t)<<24|each)
		binary.BigEndian.PutUint64(b[blockHeadLen:], uint64(v))
		sets, blocks = sets[valueLen:], blocks[each:]
	}
}

// room adds n values of a form to the open set, with each bytes in blocks, and
// returns where they go; false if not all of them may join it, or there are none.
func (w *ResultWriter) room(form uint32, n, each int) (sets, blocks []byte, ok bool) {
	const formLen = 4 // before the first value
	if n == 0 || w.Size()+formLen+n*(valueLen+each) > cmp.Or(w.Limit, MaxLen) || !w.takes(form) {
		return nil, nil, false
	}
	w.n += uint32(n)
	w.sets, sets = extend(w.sets, n*valueLen)
	w.blocks, blocks = extend(w.blocks, n*each)
	return sets, blocks, true
}

// extend makes a buffer n bytes longer, and returns these, too.
func extend(b []byte, n int) (all, added []byte) {
	at := len(b)
	all = slices.Grow(b, n)[:at+n]
	return all, all[at:]
}
