package pdu

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// The methods here do what one call for each value would do, in less than half
// of the time: they grow the buffers and check the limits once for all values.
// Those that only call a generic function are not inlined: in another package the
// compiler would not know that the slices do not escape.
//
// They panic if insts and vs differ in length, and have then added nothing.

// Int32s adds values of Type32: vs[i] is that of insts[i]. It panics if the slices
// differ in length.
//
//go:noinline
func (w *ResultWriter) Int32s(insts []InstID, vs []int32) { addWords(w, insts, vs) }

// Uint32s adds values of TypeU32: vs[i] is that of insts[i]. It panics if the slices
// differ in length.
//
//go:noinline
func (w *ResultWriter) Uint32s(insts []InstID, vs []uint32) { addWords(w, insts, vs) }

// Int64s adds values of Type64: vs[i] is that of insts[i]. It panics if the slices
// differ in length.
//
//go:noinline
func (w *ResultWriter) Int64s(insts []InstID, vs []int64) { addEights(w, Type64, insts, vs) }

// Uint64s adds values of TypeU64: vs[i] is that of insts[i]. It panics if the slices
// differ in length.
//
//go:noinline
func (w *ResultWriter) Uint64s(insts []InstID, vs []uint64) { addEights(w, TypeU64, insts, vs) }

// Float64s adds values of TypeDouble: vs[i] is that of insts[i]. It panics if the slices
// differ in length.
func (w *ResultWriter) Float64s(insts []InstID, vs []float64) {
	mustPair(len(insts), len(vs))
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

// Numbers adds values of a number's type t: those of bits, as for Number. Another type
// fails the set with ErrType. It panics if the slices differ in length.
func (w *ResultWriter) Numbers(t Type, insts []InstID, bits []uint64) {
	switch t {
	case Type32, TypeU32:
		addWords(w, insts, bits)
	case Type64, TypeU64, TypeDouble:
		addEights(w, t, insts, bits)
	default:
		mustPair(len(insts), len(bits))
		for i, v := range bits {
			w.addNumber(insts[i], t, v)
		}
	}
}

// mustPair panics unless there are as many instances as values.
func mustPair(insts, values int) {
	if insts != values {
		panic("pdu: " + strconv.Itoa(insts) + " instances for " + strconv.Itoa(values) + " values")
	}
}

// addWords adds values of 32 bits, which travel in place.
func addWords[T int32 | uint32 | uint64](w *ResultWriter, insts []InstID, vs []T) {
	mustPair(len(insts), len(vs))
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
	mustPair(len(insts), len(vs))
	index := w.nextIndex()
	sets, blocks, ok := w.room(valDPtr, len(vs), each)
	if !ok {
		for i, v := range vs {
			w.addEight(t, insts[i], uint64(v))
		}
		return
	}
	for len(vs) >= 4 && len(insts) >= 4 { // at once, so that the bounds are checked once
		s, b, v, inst := (*[4 * valueLen]byte)(sets), (*[4 * each]byte)(blocks), (*[4]T)(vs), (*[4]InstID)(insts)
		for k := range 4 {
			binary.BigEndian.PutUint64(s[k*valueLen:], uint64(uint32(inst[k]))<<32|uint64(index+uint32(k)*each/4))
			binary.BigEndian.PutUint32(b[k*each:], uint32(t)<<24|each)
			binary.BigEndian.PutUint64(b[k*each+blockHeadLen:], uint64(v[k]))
		}
		index += each
		sets, blocks, vs, insts = sets[len(s):], blocks[len(b):], vs[4:], insts[4:]
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

// room grows the open set by n values of a form, with each bytes in blocks, and returns the space
// for them. If not all of them fit or n is 0, ok is false and the set is unchanged.
func (w *ResultWriter) room(form uint32, n, each int) (sets, blocks []byte, ok bool) {
	const formLen = 4 // before the first value
	more := formLen + n*(valueLen+each)
	if n == 0 || w.Size()+more > w.limit() || !w.reserve(more) || !w.accepts(form) {
		return nil, nil, false
	}
	w.n += uint32(n)
	w.sets, sets = extend(w.sets, n*valueLen)
	w.blocks, blocks = extend(w.blocks, n*each)
	return sets, blocks, true
}

// extend makes a buffer n bytes longer. added are these bytes.
func extend(b []byte, n int) (all, added []byte) {
	at := len(b)
	all = slices.Grow(b, n)[:at+n]
	return all, all[at:]
}
