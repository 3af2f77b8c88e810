package pdu

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// A ValueSet is the values of one metric in a Result, valid as long as that is
// not filled again. It is pmValueSet of the C library.
type ValueSet struct {
	PMID PMID

	// Four words in all: the compiler keeps that in registers, and no more.
	off int32  // of the set in buf
	buf []byte // the body of the Result; nil in the zero ValueSet
}

// count is the number of values, or an error.
func (s ValueSet) count() int32 {
	if len(s.buf) == 0 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(s.buf[s.off+4:]))
}

// form says where the values are: valInsitu and so on. There is at least one.
func (s ValueSet) form() uint32 { return binary.BigEndian.Uint32(s.buf[s.off+setHeadLen:]) }

// Form returns the encoding of the values, one of PM_VAL_* of the C library: 0 in place, 1 in
// blocks, 2 in blocks that are static in the sender. It is 0 if there are no values.
func (s ValueSet) Form() int {
	if s.Len() == 0 {
		return 0
	}
	return int(s.form())
}

// value is where in buf the instance and word of a value are.
func (s ValueSet) value(i int) int { return int(s.off) + setHeadLen + 4 + i*valueLen }

// word is the value at index i, or where its block is.
func (s ValueSet) word(i int) uint32 { return binary.BigEndian.Uint32(s.buf[s.value(i)+4:]) }

// Len is the number of values, 0 if there is an error.
func (s ValueSet) Len() int { return int(max(s.count(), 0)) }

// Err returns the Error of a metric without values. It is nil if there are values, and if the
// metric has no values now.
func (s ValueSet) Err() error {
	if n := s.count(); n < 0 {
		return Error(n)
	}
	return nil
}

// Inst is the instance of the value at index i.
func (s ValueSet) Inst(i int) InstID {
	return InstID(binary.BigEndian.Uint32(s.buf[s.value(i):]))
}

// Atom returns the value at index i of a metric of type t. The type matters only for values in
// place, which TypeUnknown reads as Type32, because a block has its type in its header. For a
// malformed block it returns an Atom of TypeUnknown. As of such an Atom fails with ErrIPC.
func (s ValueSet) Atom(i int, t Type) Atom { return atomAt(s.buf, s.form(), s.word(i), t) }

// atomAt is the value of type t in a word, or in the block that it refers to.
func atomAt(buf []byte, form, word uint32, t Type) Atom {
	if form == valInsitu {
		return insituAtom(t, word)
	}
	const eight = blockHeadLen + 8
	if at := int64(word)*4 - HeaderLen; at >= 0 && at+eight <= int64(len(buf)) {
		b := (*[eight]byte)(buf[at:])
		head := binary.BigEndian.Uint32(b[:])
		if bt := Type(head >> 24); head&maxBlockLen == eight && (bt == TypeU64 || bt == Type64 || bt == TypeDouble) {
			return Atom{Type: bt, bits: binary.BigEndian.Uint64(b[blockHeadLen:])}
		}
	}
	off, n, ok := blockAt(buf, word)
	if !ok {
		return malformedAtom
	}
	bt := Type(buf[off])
	if bt == TypeUnknown || bt == Type32 { // some agents leave the type out
		bt = t
	}
	a, err := blockAtom(bt, buf[off+blockHeadLen:off+n:off+n])
	if err != nil {
		return malformedAtom
	}
	return a
}

// All yields instance and value of the metric, whose type is t; see Atom.
func (s ValueSet) All(t Type) iter.Seq2[InstID, Atom] {
	return func(yield func(InstID, Atom) bool) {
		for i := range s.Len() {
			if !yield(s.Inst(i), s.Atom(i, t)) {
				return
			}
		}
	}
}

// Numbers appends the instances and the values of all values to slices, in a fraction of the time
// that Inst and Atom take. t is the type of the metric, which must be numeric. The bits of a
// value are those of ResultWriter.Number. If the set has an error, or a value does not have the
// usual encoding of type t, ok is false and the slices are unchanged.
func (s ValueSet) Numbers(t Type, insts []InstID, bits []uint64) (_ []InstID, _ []uint64, ok bool) {
	n := s.Len()
	if n == 0 {
		return insts, bits, s.count() == 0
	}
	at := s.value(0)
	values := wire.Octets(s.buf[at : at+n*valueLen])
	numbers := slices.Grow(bits, n)[:len(bits)+n]
	switch added := numbers[len(bits):]; {
	case s.form() != valInsitu && (t == Type64 || t == TypeU64 || t == TypeDouble):
		ok = readEights(s.buf, uint32(t)<<24|blockHeadLen+8, values, added)
	case s.form() == valInsitu && (t == Type32 || t == TypeU32):
		ok = true
		for i := range values {
			added[i] = uint64(binary.BigEndian.Uint32(values[i][4:]))
		}
	}
	if !ok {
		return insts, bits, false
	}
	ids := slices.Grow(insts, n)[:len(insts)+n]
	readInsts(ids[len(insts):], values)
	return ids, numbers, true
}

// readInsts reads the instances of values, many at a time as far as that goes.
func readInsts(insts []InstID, values [][valueLen]byte) {
	for ; len(insts) >= many && len(values) >= many; insts, values = insts[many:], values[many:] {
		to, v := (*[many]InstID)(insts), (*[many][valueLen]byte)(values)
		to[0] = InstID(binary.BigEndian.Uint32(v[0][:]))
		to[1] = InstID(binary.BigEndian.Uint32(v[1][:]))
		to[2] = InstID(binary.BigEndian.Uint32(v[2][:]))
		to[3] = InstID(binary.BigEndian.Uint32(v[3][:]))
	}
	for i := range min(len(insts), len(values)) {
		insts[i] = InstID(binary.BigEndian.Uint32(values[i][:]))
	}
}

// readEights reads the numbers in the blocks of values, whose heads must all be the same.
func readEights(buf []byte, head uint32, values [][8]byte, numbers []uint64) (ok bool) {
	const eight = blockHeadLen + 8
	done := readInOrder(buf, head, values, numbers)
	for i := done; i < len(values); i++ {
		at := int64(binary.BigEndian.Uint32(values[i][4:]))*4 - HeaderLen
		if at < 0 || at+eight > int64(len(buf)) {
			return false
		}
		b := (*[eight]byte)(buf[at:])
		if binary.BigEndian.Uint32(b[:]) != head {
			return false
		}
		numbers[i] = binary.BigEndian.Uint64(b[blockHeadLen:])
	}
	return true
}

// readInOrder is readEights of blocks that follow each other, as all writers have them, so that
// their places are known and looked at many at a time. done is of how many values it is true; the
// others are still to be read.
func readInOrder(buf []byte, head uint32, values [][8]byte, numbers []uint64) (done int) {
	if len(values) < many {
		return 0
	}
	index := binary.BigEndian.Uint32(values[0][4:])
	at := int64(index)*4 - HeaderLen
	if at < 0 || at > int64(len(buf)) {
		return 0
	}
	for b := buf[at:]; len(values) >= many && len(numbers) >= many && len(b) >= manyBlocks; b = b[manyBlocks:] {
		to, blocks := (*[many]uint64)(numbers), (*[manyBlocks]byte)(b)
		if indexFlaws((*[many][valueLen]byte)(values), index)|headFlaws(blocks, math.MaxUint32, head) != 0 {
			break
		}
		to[0] = binary.BigEndian.Uint64(blocks[blockHeadLen:])
		to[1] = binary.BigEndian.Uint64(blocks[eightLen+blockHeadLen:])
		to[2] = binary.BigEndian.Uint64(blocks[2*eightLen+blockHeadLen:])
		to[3] = binary.BigEndian.Uint64(blocks[3*eightLen+blockHeadLen:])
		index += manyBlocks / 4
		values, numbers = values[many:], numbers[many:]
		done += many
	}
	return done
}

// Values in blocks of eight bytes are looked at many at a time.
const (
	eightLen   = blockHeadLen + 8
	many       = 4
	manyBlocks = many * eightLen
)

// indexFlaws is 0 if many values are in blocks that follow each other from an index on. It is
// written out for the compiler, which unrolls no loops.
func indexFlaws(values *[many][valueLen]byte, index uint32) uint32 {
	const step = eightLen / 4
	return (binary.BigEndian.Uint32(values[0][4:]) ^ index) |
		(binary.BigEndian.Uint32(values[1][4:]) ^ (index + step)) |
		(binary.BigEndian.Uint32(values[2][4:]) ^ (index + 2*step)) |
		(binary.BigEndian.Uint32(values[3][4:]) ^ (index + 3*step))
}

// headFlaws is 0 if many blocks have a head in the bits of mask.
func headFlaws(blocks *[manyBlocks]byte, mask, head uint32) uint32 {
	return ((binary.BigEndian.Uint32(blocks[:]) ^ head) |
		(binary.BigEndian.Uint32(blocks[eightLen:]) ^ head) |
		(binary.BigEndian.Uint32(blocks[2*eightLen:]) ^ head) |
		(binary.BigEndian.Uint32(blocks[3*eightLen:]) ^ head)) & mask
}

// block finds the block of the value at index i: where it starts in buf and its
// length with its header.
func (s ValueSet) block(i int) (off, n int, ok bool) {
	return blockAt(s.buf, s.word(i))
}

func blockAt(buf []byte, index uint32) (off, n int, ok bool) {
	at := int64(index)*4 - HeaderLen
	if at < 0 || at > int64(len(buf)-blockHeadLen) {
		return 0, 0, false
	}
	off = int(at)
	n = int(binary.BigEndian.Uint32(buf[off:]) & maxBlockLen)
	return off, n, n >= blockHeadLen && wire.Pad4(n) <= len(buf)-off
}

// insituAtom is the value of type t in a word. Very old agents send floats so.
func insituAtom(t Type, word uint32) Atom {
	bits := uint64(word)
	switch t {
	case TypeU32, TypeFloat:
	case Type32, TypeUnknown:
		t, bits = Type32, uint64(int64(int32(word)))
	default:
		t, bits = TypeUnknown, 0
	}
	return Atom{Type: t, bits: bits}
}

// malformedAtom stands for a value that the layout does not hold.
var malformedAtom = Atom{Type: TypeUnknown}
