package derived

import (
	"math"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// combine computes values from pairs of values of the operands: of the same instance, or one of
// them is that of all.
func (o *bound) combine() {
	l, r := &o.left.out, &o.right.out
	if o.out.reset(l.err); l.err == 0 {
		o.out.reset(r.err)
	}
	if o.out.err != 0 || len(l.insts) == 0 || len(r.insts) == 0 {
		return
	}
	p := o.pair(l, r)
	o.out.words = slices.Grow(o.out.words, len(o.out.insts))[:len(o.out.insts)]
	if o.scales != [2]factor{} {
		scaled(o, &p)
		return
	}
	if o.op == tokSlash {
		divide(o, &p)
		return
	}
	if o.integers(&p) {
		return
	}
	switch max(p.lt, p.rt) {
	case pdu.Type32:
		arithmetic[int32](o, &p)
	case pdu.TypeU32:
		arithmetic[uint32](o, &p)
	case pdu.Type64:
		arithmetic[int64](o, &p)
	case pdu.TypeU64:
		arithmetic[uint64](o, &p)
	case pdu.TypeFloat:
		arithmetic[float32](o, &p)
	default:
		arithmetic[float64](o, &p)
	}
}

// pairs are values of two columns: those with the same index, or a single one is that of all.
type pairs struct {
	l, r   []uint64
	lt, rt pdu.Type
}

// pair finds the pairs of values of two columns, and makes their instances those of the result.
func (o *bound) pair(l, r *column) pairs {
	p := pairs{l.words, r.words, o.left.desc.Type, o.right.desc.Type}
	switch hasInDom := o.desc.InDom != pdu.NoInDom; {
	case hasInDom && o.left.desc.InDom == pdu.NoInDom:
		p.l = l.words[:1]
		o.out.insts = append(o.out.insts, r.insts...)
	case hasInDom && o.right.desc.InDom == pdu.NoInDom:
		p.r = r.words[:1]
		o.out.insts = append(o.out.insts, l.insts...)
	default:
		p.l, p.r = o.out.match(l, r, &o.matched)
	}
	return p
}

// match returns the values of the instances that both columns have, and makes these the instances
// of c. If the columns have different instances it copies the values to buffers.
func (c *column) match(l, r *column, buffers *[2][]uint64) (lw, rw []uint64) {
	if slices.Equal(l.insts, r.insts) {
		c.insts = append(c.insts, l.insts...)
		return l.words, r.words
	}
	lw, rw = buffers[0][:0], buffers[1][:0]
	likely := 0
	for i, id := range l.insts {
		if k := r.find(id, likely); k >= 0 {
			c.insts, lw, rw = append(c.insts, id), append(lw, l.words[i]), append(rw, r.words[k])
			likely = k + 1
		}
	}
	*buffers = [2][]uint64{lw, rw}
	return lw, rw
}

// integers computes sums, differences and products of integers in the words as they are: their low
// bits are those of the operands' low bits alone. It reports whether it can: a Type32 that becomes
// longer has bits that are not in its word.
func (o *bound) integers(p *pairs) bool {
	mask := uint64(math.MaxUint64)
	switch t := max(p.lt, p.rt); {
	case t > pdu.TypeU64, o.op != tokPlus && o.op != tokMinus && o.op != tokStar:
		return false
	case t <= pdu.TypeU32:
		mask = math.MaxUint32
	case p.lt == pdu.Type32 || p.rt == pdu.Type32:
		return false
	}
	out, l, r := o.out.words, p.l, p.r
	if len(l) != len(out) || len(r) != len(out) { // one of them is for all
		return false
	}
	switch o.op {
	case tokPlus:
		for i := range out {
			out[i] = (l[i] + r[i]) & mask
		}
	case tokMinus:
		for i := range out {
			out[i] = (l[i] - r[i]) & mask
		}
	default:
		for i := range out {
			out[i] = (l[i] * r[i]) & mask
		}
	}
	return true
}

// chunk is how many pairs are computed with at once: few enough for the stack and the processor's
// cache.
const chunk = 128

// arithmetic computes in one type.
func arithmetic[T number](o *bound, p *pairs) {
	var a, b [chunk]T
	for at := 0; at < len(o.out.words); at += chunk {
		words := o.out.words[at:min(at+chunk, len(o.out.words))]
		a, b := a[:len(words)], b[:len(words)]
		load(a, p.l, at, p.lt)
		load(b, p.r, at, p.rt)
		switch o.op {
		case tokPlus:
			for i := range a {
				a[i] += b[i]
			}
		case tokMinus:
			for i := range a {
				a[i] -= b[i]
			}
		case tokStar:
			for i := range a {
				a[i] *= b[i]
			}
		default:
			for i := range a {
				words[i] = truth(compare(o.op, a[i], b[i]))
			}
			continue
		}
		store(words, a)
	}
}

// load converts the words from an index on, or the single one for all.
func load[T number](to []T, words []uint64, at int, from pdu.Type) {
	if len(words) == 1 {
		v := as[T](words[0], from)
		for i := range to {
			to[i] = v
		}
		return
	}
	words = words[at : at+len(to)]
	switch from {
	case pdu.Type32:
		for i, w := range words {
			to[i] = T(int32(w))
		}
	case pdu.TypeU32:
		for i, w := range words {
			to[i] = T(uint32(w))
		}
	case pdu.Type64:
		for i, w := range words {
			to[i] = T(int64(w))
		}
	case pdu.TypeU64:
		for i, w := range words {
			to[i] = T(w)
		}
	case pdu.TypeFloat:
		for i, w := range words {
			to[i] = T(math.Float32frombits(uint32(w)))
		}
	default:
		for i, w := range words {
			to[i] = T(math.Float64frombits(w))
		}
	}
}

// store makes words of numbers.
func store[T number](words []uint64, from []T) {
	if from, ok := any(from).([]float64); ok { // most values, without the choice that word makes of each
		for i, v := range from {
			words[i] = math.Float64bits(v)
		}
		return
	}
	for i, v := range from {
		words[i] = word(v)
	}
}

func compare[T number](op token, a, b T) bool {
	switch op {
	case tokLess:
		return a < b
	case tokLessEqual:
		return a <= b
	case tokEqual:
		return a == b
	case tokGreaterEqual:
		return a >= b
	case tokGreater:
		return a > b
	case tokNotEqual:
		return a != b
	case tokAnd:
		return a != 0 && b != 0
	}
	return a != 0 || b != 0
}

// divide computes quotients.
func divide(o *bound, p *pairs) {
	var a, b [chunk]float64
	for at := 0; at < len(o.out.words); at += chunk {
		words := o.out.words[at:min(at+chunk, len(o.out.words))]
		a, b := a[:len(words)], b[:len(words)]
		load(a, p.l, at, p.lt)
		load(b, p.r, at, p.rt)
		for i := range words {
			words[i] = quotient(a[i], b[i])
		}
	}
}

// quotient is the word of a quotient. Nothing divided by anything is nothing.
func quotient(a, b float64) uint64 {
	v := 0.0
	if a != 0 {
		v = a / b
	}
	return math.Float64bits(v)
}

// scaled computes with numbers of different scales.
func scaled(o *bound, p *pairs) {
	var one, two [1]float64
	for i := range o.out.words {
		load(one[:], p.l, i, p.lt)
		load(two[:], p.r, i, p.rt)
		a, b := o.scales[0].apply(one[0]), o.scales[1].apply(two[0])
		switch o.op {
		case tokPlus:
			a += b
		case tokMinus:
			a -= b
		case tokStar:
			a *= b
		default:
			o.out.words[i] = quotient(a, b)
			continue
		}
		o.out.words[i] = math.Float64bits(a)
	}
}
