package derived

import (
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// A column is the values of a metric or of a part of an expression: the bits of numbers in words,
// other values in atoms.
type column struct {
	err   pdu.Error // why there are no values; 0 if that is no error
	insts []pdu.InstID
	words []uint64
	atoms []pdu.Atom
}

// reset takes all values away.
func (c *column) reset(err pdu.Error) {
	c.err, c.insts, c.words, c.atoms = err, c.insts[:0], c.words[:0], c.atoms[:0]
}

// one makes a column of one number.
func (c *column) one(t pdu.Type, v float64) {
	c.reset(0)
	c.insts, c.words = append(c.insts, pdu.NoInst), append(c.words, wordOf(t, v))
}

// wordOf is the bits of a number as one of a type.
func wordOf(t pdu.Type, v float64) uint64 {
	switch t {
	case pdu.Type32:
		return word(int32(int64(v)))
	case pdu.TypeU32:
		return word(uint32(int64(v)))
	case pdu.Type64:
		return word(int64(v))
	case pdu.TypeU64:
		return word(uint64(v))
	case pdu.TypeFloat:
		return word(float32(v))
	}
	return word(v)
}

// read takes the values of a set.
func (c *column) read(s pdu.ValueSet, t pdu.Type) {
	c.reset(0)
	if err := s.Err(); err != nil {
		c.err = pdu.FromError(err)
		return
	}
	var ok bool
	if c.insts, c.words, ok = s.Numbers(t, c.insts, c.words); ok {
		return
	}
	for i := range s.Len() {
		a := s.Atom(i, t)
		c.insts = append(c.insts, s.Inst(i))
		if !isNumber(t) {
			c.atoms = append(c.atoms, a)
			continue
		}
		w, err := numberTypes[t].word(a)
		if err != nil {
			c.reset(pdu.FromError(err))
			return
		}
		c.words = append(c.words, w)
	}
}

// A numberType converts numbers of one type between words and atoms.
type numberType struct {
	word func(a pdu.Atom) (uint64, error) // of an atom of any type
	atom func(w uint64) pdu.Atom
}

// numberTypes are the types of numbers; see isNumber.
var numberTypes = [...]numberType{
	pdu.Type32:     numberTypeOf[int32](pdu.Type32),
	pdu.TypeU32:    numberTypeOf[uint32](pdu.TypeU32),
	pdu.Type64:     numberTypeOf[int64](pdu.Type64),
	pdu.TypeU64:    numberTypeOf[uint64](pdu.TypeU64),
	pdu.TypeFloat:  numberTypeOf[float32](pdu.TypeFloat),
	pdu.TypeDouble: numberTypeOf[float64](pdu.TypeDouble),
}

func numberTypeOf[T number](t pdu.Type) numberType {
	return numberType{
		func(a pdu.Atom) (uint64, error) { v, err := pdu.As[T](a); return word(v), err },
		func(w uint64) pdu.Atom { return pdu.AtomOf(as[T](w, t)) },
	}
}

type number interface {
	int32 | uint32 | int64 | uint64 | float32 | float64
}

// word is the bits of a number.
func word[T number](v T) uint64 {
	switch v := any(v).(type) {
	case int32:
		return uint64(uint32(v))
	case uint32:
		return uint64(v)
	case int64:
		return uint64(v)
	case uint64:
		return v
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	}
	return 0
}

// as is the number that a word of a type stands for, converted to T.
func as[T number](w uint64, t pdu.Type) T {
	switch t {
	case pdu.Type32:
		return T(int32(w))
	case pdu.TypeU32:
		return T(uint32(w))
	case pdu.Type64:
		return T(int64(w))
	case pdu.TypeU64:
		return T(w)
	case pdu.TypeFloat:
		return T(math.Float32frombits(uint32(w)))
	}
	return T(math.Float64frombits(w))
}

// find is the index of an instance, -1 if it is not there. It is most likely at i.
func (c *column) find(id pdu.InstID, i int) int {
	if i < len(c.insts) && c.insts[i] == id {
		return i
	}
	for i, other := range c.insts {
		if other == id {
			return i
		}
	}
	return -1
}

// keep keeps a value of another column.
func (c *column) keep(from *column, i int) {
	c.insts = append(c.insts, from.insts[i])
	if len(from.words) > 0 {
		c.words = append(c.words, from.words[i])
	} else {
		c.atoms = append(c.atoms, from.atoms[i])
	}
}

// share makes the column another one, whose memory it shares.
func (c *column) share(from *column) { *c = *from }
