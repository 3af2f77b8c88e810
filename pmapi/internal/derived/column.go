package derived

import (
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// A column is the values of a metric or of a part of an expression: the bits of numbers in words, other values in atoms.
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
	c.insts = append(c.insts, pdu.NoInst)
	var w uint64
	switch t {
	case pdu.Type32:
		w = word(int32(int64(v)))
	case pdu.TypeU32:
		w = word(uint32(int64(v)))
	case pdu.Type64:
		w = word(int64(v))
	case pdu.TypeU64:
		w = word(uint64(v))
	case pdu.TypeFloat:
		w = word(float32(v))
	default:
		w = word(v)
	}
	c.words = append(c.words, w)
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
		w, err := wordOf(a, t)
		if err != nil {
			c.reset(pdu.FromError(err))
			return
		}
		c.words = append(c.words, w)
	}
}

// wordOf is the bits of a number of type t.
func wordOf(a pdu.Atom, t pdu.Type) (w uint64, err error) {
	switch t {
	case pdu.Type32:
		v, e := pdu.As[int32](a)
		return word(v), e
	case pdu.TypeU32:
		v, e := pdu.As[uint32](a)
		return word(v), e
	case pdu.Type64:
		v, e := pdu.As[int64](a)
		return word(v), e
	case pdu.TypeU64:
		v, e := pdu.As[uint64](a)
		return word(v), e
	case pdu.TypeFloat:
		v, e := pdu.As[float32](a)
		return word(v), e
	}
	v, e := pdu.As[float64](a)
	return word(v), e
}

// atom is the value at an index as an Atom.
func (c *column) atom(i int, t pdu.Type) pdu.Atom {
	switch t {
	case pdu.Type32:
		return pdu.Int32(as[int32](c.words[i], t))
	case pdu.TypeU32:
		return pdu.Uint32(as[uint32](c.words[i], t))
	case pdu.Type64:
		return pdu.Int64(as[int64](c.words[i], t))
	case pdu.TypeU64:
		return pdu.Uint64(c.words[i])
	case pdu.TypeFloat:
		return pdu.Float32(as[float32](c.words[i], t))
	case pdu.TypeDouble:
		return pdu.Float64(as[float64](c.words[i], t))
	}
	return c.atoms[i]
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
