package derived

import (
	"context"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Names has the names of instances.
type Names interface {
	// Name is the name of an instance, "" if it is not known.
	Name(d pdu.InDom, id pdu.InstID) string
	// Instances returns the present instances in ascending order. The slice must not be changed.
	Instances(d pdu.InDom) []pdu.InstID
}

// Sets are the values of operands: Places are where those of a Program's Operands are among others.
type Sets struct {
	Values interface{ At(i int) pdu.ValueSet }
	Places []int
}

// Limits of an evaluation.
const (
	keptValues = 1 << 16 // values of all parts of an expression that are kept for the next evaluation
	checkEvery = 1 << 12 // units of work between looks at the context: a value or a node is one
	matchWork  = 1 << 8  // units of work that matching a name takes
)

// A Moment is the time of a fetch.
type Moment struct {
	Time      time.Time
	Backwards bool // each fetch goes back in time
}

// Eval computes the values of an expression from those of its operands, once for each fetch. In
// the long run it allocates nothing, unless all parts of the expression have more than keptValues
// values. The error is the cause of the end of ctx. It makes the next values the first ones for
// delta and rate.
func (p *Program) Eval(ctx context.Context, at Moment, sets Sets, names Names) error {
	most := 0
	for i := range p.inputs {
		p.inputs[i].read(sets.Values.At(sets.Places[i]), p.types[i])
		most = max(most, len(p.inputs[i].insts))
	}
	e := evaluation{p: p, ctx: ctx, at: at, names: names, large: most*p.nodes > keptValues}
	e.eval(p.root)
	if e.err != nil {
		p.Forget()
	}
	return e.err
}

// Write writes the values that Eval has computed, as one set of the metric id.
func (p *Program) Write(id pdu.PMID, w *pdu.ResultWriter) {
	w.Begin(id)
	c := &p.root.out
	if c.err != 0 {
		w.Fail(c.err)
		return
	}
	if isNumber(p.Desc.Type) {
		w.Numbers(p.Desc.Type, c.insts, c.words)
		return
	}
	for i, inst := range c.insts {
		w.Atom(inst, c.atoms[i])
	}
}

// Forget makes the next values the first ones for delta and rate.
func (p *Program) Forget() { p.root.forget() }

func (o *bound) forget() {
	if o == nil {
		return
	}
	o.state.valid = false
	o.left.forget()
	o.right.forget()
	o.other.forget()
}

// An evaluation is one call of Eval.
type evaluation struct {
	p     *Program
	ctx   context.Context
	at    Moment
	names Names
	large bool  // the values of parts are dropped when they have been used
	work  int   // since the last look at ctx
	err   error // ctx has ended for this reason
}

// spend counts work. It reports whether the evaluation may go on.
func (e *evaluation) spend(work int) bool {
	if e.work += work; e.work >= checkEvery {
		e.work = 0
		if e.ctx.Err() != nil {
			e.err = context.Cause(e.ctx)
		}
	}
	return e.err == nil
}

// eval computes the values of a node.
func (e *evaluation) eval(o *bound) {
	if o == nil || e.err != nil {
		return
	}
	if o.isConstant() {
		if o.desc.InDom != pdu.NoInDom {
			o.repeat(e.names.Instances(o.desc.InDom))
		}
		return
	}
	e.eval(o.left)
	e.eval(o.right)
	e.eval(o.other)
	if !e.spend(1) {
		return
	}
	switch o.op {
	case tokName:
		if o.input != noInput {
			o.out.share(&e.p.inputs[o.input])
		}
	case tokInstance:
		e.filter(o, func(name string) bool { return sameInstance(name, o.word) })
	case tokFunction:
		e.function(o)
	case tokNot:
		o.each(notWord)
	case tokQuest:
		o.choose()
	default:
		if o.negative {
			o.each(negateWord)
		} else {
			o.combine()
		}
	}
	e.spend(len(o.out.insts))
	if e.large {
		o.left.drop()
		o.right.drop()
		o.other.drop()
	}
}

// drop drops the values of a part that have been used.
func (o *bound) drop() {
	if o != nil && !o.isConstant() {
		o.out, o.matched = column{err: o.out.err}, [2][]uint64{}
	}
}

// sameInstance reports whether a text names an instance: by its whole name, or by that up to its
// first space.
func sameInstance(name, text string) bool { return name == text || firstWord(name) == text }

// firstWord is the name of an instance up to its first space.
func firstWord(name string) string {
	word, _, _ := strings.Cut(name, " ")
	return word
}

// filter keeps the values of instances with certain names. A value without instance has no name.
func (e *evaluation) filter(o *bound, want func(name string) bool) {
	in := &o.left.out
	o.out.reset(in.err)
	if o.left.desc.InDom == pdu.NoInDom {
		return
	}
	for i, id := range in.insts {
		if !e.spend(matchWork) {
			return
		}
		if name := e.names.Name(o.left.desc.InDom, id); name != "" && want(name) {
			o.out.keep(in, i)
		}
	}
}

// each computes a value from each of the operand's.
func (o *bound) each(f func(w uint64, from, to pdu.Type) uint64) {
	in := &o.left.out
	o.out.reset(in.err)
	o.out.insts = append(o.out.insts, in.insts...)
	for _, w := range in.words {
		o.out.words = append(o.out.words, f(w, o.left.desc.Type, o.desc.Type))
	}
}

func notWord(w uint64, from, to pdu.Type) uint64 {
	return convert(truth(as[float64](w, from) == 0), pdu.TypeU32, to)
}

func negateWord(w uint64, from, to pdu.Type) uint64 {
	switch from {
	case pdu.Type32, pdu.TypeU32:
		return word(-int32(w))
	case pdu.Type64, pdu.TypeU64:
		return word(-int64(w))
	case pdu.TypeFloat:
		return word(-as[float32](w, from))
	}
	return word(-as[float64](w, from))
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// convert converts a number.
func convert(w uint64, from, to pdu.Type) uint64 {
	if from == to {
		return w
	}
	switch to {
	case pdu.Type32:
		return word(as[int32](w, from))
	case pdu.TypeU32:
		return word(as[uint32](w, from))
	case pdu.Type64:
		return word(as[int64](w, from))
	case pdu.TypeU64:
		return word(as[uint64](w, from))
	case pdu.TypeFloat:
		return word(as[float32](w, from))
	}
	return word(as[float64](w, from))
}

// repeat gives each instance the value of a constant.
func (o *bound) repeat(insts []pdu.InstID) {
	o.out.reset(0)
	o.out.insts = append(o.out.insts, insts...)
	w := wordOf(o.desc.Type, o.value)
	for range insts {
		o.out.words = append(o.out.words, w)
	}
}

// choose selects each value from one of the alternatives by the guard. Like in the C library, the
// position of a value counts, not its instance. Where the guard is too short its last value counts,
// and where an alternative is too short its first value does. The instances are those of the first
// alternative that has instances. If that alternative is the shorter one, the C library reads past
// its end; here the remaining positions have no value. Where novalue is chosen there is no value.
func (o *bound) choose() {
	guard := &o.left.out
	empty := false
	for _, part := range []*bound{o.left, o.right, o.other} {
		if o.out.reset(part.out.err); o.out.err != 0 {
			return
		}
		empty = empty || len(part.out.insts) == 0 && part.fn != fnNovalue
	}
	if empty {
		return
	}
	from := o.other
	for i, id := range o.named().insts {
		if i < len(guard.words) {
			if from = o.right; as[float64](guard.words[i], o.left.desc.Type) == 0 {
				from = o.other
			}
		}
		if from.fn == fnNovalue {
			continue
		}
		k := i
		if k >= len(from.out.insts) {
			k = 0
		}
		o.out.keep(&from.out, k)
		o.out.insts[len(o.out.insts)-1] = id
	}
}

// named is the part of a choice whose instances the values have.
func (o *bound) named() *column {
	yes, no := o.right, o.other
	if no.fn == fnNovalue {
		yes, no = no, yes
	}
	switch {
	case yes.fn != fnNovalue && yes.desc.InDom != pdu.NoInDom:
		return &yes.out
	case yes.fn == fnNovalue && no.desc.InDom == pdu.NoInDom && o.left.desc.InDom != pdu.NoInDom:
		return &o.left.out // of a number and novalue with instances
	}
	return &no.out
}
