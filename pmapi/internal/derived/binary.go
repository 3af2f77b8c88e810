package derived

import (
	"github.com/pcp-go/pcp/pdu"
)

// combine computes values from pairs of values of the operands: of the same instance, or one of them is that of all.
func (o *bound) combine() {
	l, r := &o.left.out, &o.right.out
	if o.out.reset(l.err); l.err == 0 {
		o.out.reset(r.err)
	}
	if o.out.err != 0 || len(l.insts) == 0 || len(r.insts) == 0 {
		return
	}
	p := pairs{l: l, r: r, lt: o.left.desc.Type, rt: o.right.desc.Type}
	p.lstep, p.rstep = 1, 1
	if o.left.desc.InDom == pdu.NoInDom && o.desc.InDom != pdu.NoInDom {
		p.lstep = 0
	}
	if o.right.desc.InDom == pdu.NoInDom && o.desc.InDom != pdu.NoInDom {
		p.rstep = 0
	}
	switch {
	case o.scales != [2]factor{}:
		scaled(o, &p)
	case o.op == tokSlash:
		divide(o, &p)
	default:
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
}

// pairs are the pairs of values of two columns.
type pairs struct {
	l, r         *column
	lt, rt       pdu.Type
	lstep, rstep int // 0 if the one value is that of all instances
	i            int
}

// next finds the next pair, whose values are at the indexes lk and rk.
func (p *pairs) next() (id pdu.InstID, lk, rk int, ok bool) {
	lead := p.l
	if p.lstep == 0 {
		lead = p.r
	}
	for ; p.i < len(lead.insts); p.i++ {
		id = lead.insts[p.i]
		switch {
		case p.lstep == 0:
			rk = p.i
		case p.rstep == 0:
			lk = p.i
		default:
			lk, rk = p.i, p.r.find(id, p.i)
		}
		if rk >= 0 {
			p.i++
			return id, lk, rk, true
		}
	}
	return 0, 0, 0, false
}

// arithmetic computes in one type.
func arithmetic[T number](o *bound, p *pairs) {
	out := &o.out
	relation := isRelation(o.op) || o.op == tokAnd || o.op == tokOr
	for id, lk, rk, ok := p.next(); ok; id, lk, rk, ok = p.next() {
		a, b := as[T](p.l.words[lk], p.lt), as[T](p.r.words[rk], p.rt)
		out.insts = append(out.insts, id)
		if relation {
			out.words = append(out.words, truth(compare(o.op, a, b)))
			continue
		}
		var v T
		switch o.op {
		case tokPlus:
			v = a + b
		case tokMinus:
			v = a - b
		default:
			v = a * b
		}
		out.words = append(out.words, word(v))
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

// divide computes quotients. Nothing divided by anything is nothing.
func divide(o *bound, p *pairs) {
	for id, lk, rk, ok := p.next(); ok; id, lk, rk, ok = p.next() {
		o.out.quotient(id, as[float64](p.l.words[lk], p.lt), as[float64](p.r.words[rk], p.rt))
	}
}

func (c *column) quotient(id pdu.InstID, a, b float64) {
	v := 0.0
	if a != 0 {
		v = a / b
	}
	c.insts = append(c.insts, id)
	c.words = append(c.words, word(v))
}

// scaled computes with numbers of different scales.
func scaled(o *bound, p *pairs) {
	for id, lk, rk, ok := p.next(); ok; id, lk, rk, ok = p.next() {
		a, b := o.scales[0].apply(as[float64](p.l.words[lk], p.lt)), o.scales[1].apply(as[float64](p.r.words[rk], p.rt))
		switch o.op {
		case tokPlus:
			a += b
		case tokMinus:
			a -= b
		case tokStar:
			a *= b
		default:
			o.out.quotient(id, a, b)
			continue
		}
		o.out.insts = append(o.out.insts, id)
		o.out.words = append(o.out.words, word(a))
	}
}
