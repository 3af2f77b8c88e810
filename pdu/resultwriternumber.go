package pdu

import (
	"encoding/binary"
	"math"
)

// Number adds the set of a metric without instances that has one value, a number: what Begin
// and a method named for the type do, in half of the time. The bits are those of the integer,
// or those that math.Float32bits and math.Float64bits give. Another type fails the set with
// ErrType.
func (w *ResultWriter) Number(id PMID, t Type, bits uint64) {
	w.close()
	switch {
	case !w.hasSpace(numberSet, numberBlock):
		w.Begin(id)
		w.addNumber(NoInst, t, bits)
	case t == Type32 || t == TypeU32:
		w.putSet(id, valInsitu, uint32(bits))
	case t == Type64 || t == TypeU64 || t == TypeDouble:
		at := len(w.blocks)
		word := w.nextIndex()
		w.blocks = w.blocks[:at+numberBlock]
		block := (*[numberBlock]byte)(w.blocks[at:])
		binary.BigEndian.PutUint32(block[:], uint32(t)<<24|numberBlock)
		binary.BigEndian.PutUint64(block[blockHeadLen:], bits)
		w.putSet(id, valDPtr, word)
	default:
		w.Begin(id)
		w.addNumber(NoInst, t, bits)
	}
}

// A set of one value, and its block.
const (
	numberSet   = setHeadLen + 4 + valueLen
	numberBlock = blockHeadLen + 8
)

// hasSpace reports whether sets and blocks have memory for so many bytes more, which may be
// used.
func (w *ResultWriter) hasSpace(sets, blocks int) bool {
	return cap(w.sets)-len(w.sets) >= sets && cap(w.blocks)-len(w.blocks) >= blocks &&
		w.err == nil && w.Size()+sets+blocks <= w.granted()
}

// putSet adds a set of one value. The caller has checked the space.
func (w *ResultWriter) putSet(id PMID, form, word uint32) {
	at := len(w.sets)
	w.sets = w.sets[:at+numberSet]
	set := (*[numberSet]byte)(w.sets[at:])
	binary.BigEndian.PutUint64(set[:], uint64(id)<<32|1)
	binary.BigEndian.PutUint32(set[setHeadLen:], form)
	binary.BigEndian.PutUint64(set[setHeadLen+4:], noInstWord<<32|uint64(word))
	w.ends = append(w.ends, setSpan{uint32(len(w.sets)), uint32(len(w.blocks))})
}

// addNumber adds a value of a number's type.
func (w *ResultWriter) addNumber(inst InstID, t Type, bits uint64) {
	switch t {
	case Type32, TypeU32:
		w.add(valInsitu, inst, uint32(bits))
	case Type64, TypeU64, TypeDouble:
		w.addEight(t, inst, bits)
	case TypeFloat:
		w.Float32(inst, math.Float32frombits(uint32(bits)))
	default:
		w.Fail(ErrType)
	}
}

// noInstWord is NoInst on the wire.
const noInstWord = 0xffffffff
