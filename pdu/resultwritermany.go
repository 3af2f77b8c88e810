package pdu

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Numbers adds values of a number's type t: bits[i], as for Number, is that of insts[i]. It does
// what one call for each value would do, in less than half of the time, because it grows the
// buffers and checks the limits once for all values. A type that is no number fails the set with
// ErrType. It panics if the slices differ in length, and has then added nothing.
func (w *ResultWriter) Numbers(t Type, insts []InstID, bits []uint64) {
	mustPair(len(insts), len(bits))
	switch t {
	case Type32, TypeU32:
		w.addWords(insts, bits)
	case Type64, TypeU64, TypeDouble:
		w.addEights(t, insts, bits)
	default:
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
func (w *ResultWriter) addWords(insts []InstID, vs []uint64) {
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
func (w *ResultWriter) addEights(t Type, insts []InstID, vs []uint64) {
	const each = blockHeadLen + 8
	index := w.nextIndex()
	sets, blocks, ok := w.room(valDPtr, len(vs), each)
	if !ok {
		for i, v := range vs {
			w.addEight(t, insts[i], v)
		}
		return
	}
	for len(vs) >= 4 && len(insts) >= 4 { // at once, so that the bounds are checked once
		s, b, v, inst := (*[4 * valueLen]byte)(sets), (*[4 * each]byte)(blocks), (*[4]uint64)(vs), (*[4]InstID)(insts)
		for k := range 4 {
			binary.BigEndian.PutUint64(s[k*valueLen:], uint64(uint32(inst[k]))<<32|uint64(index+uint32(k)*each/4))
			binary.BigEndian.PutUint32(b[k*each:], uint32(t)<<24|each)
			binary.BigEndian.PutUint64(b[k*each+blockHeadLen:], v[k])
		}
		index += each
		sets, blocks, vs, insts = sets[len(s):], blocks[len(b):], vs[4:], insts[4:]
	}
	for i, v := range vs {
		binary.BigEndian.PutUint64(sets, uint64(uint32(insts[i]))<<32|uint64(index))
		index += each / 4
		b := (*[each]byte)(blocks)
		binary.BigEndian.PutUint32(b[:], uint32(t)<<24|each)
		binary.BigEndian.PutUint64(b[blockHeadLen:], v)
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
