package derived

import (
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

// function computes the values of a function.
func (e *evaluation) function(o *bound) {
	if o.fn == fnAnon || o.fn == fnNovalue {
		return
	}
	in := &o.left.out
	switch o.fn {
	case fnInstant:
		o.out.share(in)
	case fnScalar:
		o.out.reset(in.err)
		if len(in.insts) > 0 {
			o.out.keep(in, 0)
			o.out.insts[0] = pdu.NoInst
		}
	case fnMatchInst:
		e.filter(o, func(name string) bool { return o.pattern.MatchString(firstWord(name)) != o.inverted })
	case fnRescale:
		o.rescale()
	case fnDelta, fnRate:
		o.difference(e.at)
	case fnCount:
		o.out.one(pdu.TypeU32, float64(len(in.insts)))
	default:
		o.aggregate()
	}
}

// rescale converts values to other units.
func (o *bound) rescale() {
	in, t := &o.left.out, o.desc.Type
	from, to := countIfPure(o.left.desc.Units), countIfPure(o.desc.Units)
	o.out.reset(in.err)
	for i, id := range in.insts {
		a, err := numberTypes[t].atom(in.words[i]).ConvertUnits(from, to)
		var w uint64
		if err == nil {
			w, err = numberTypes[t].word(a)
		}
		if err != nil {
			o.out.reset(pdu.FromError(err))
			return
		}
		o.out.insts = append(o.out.insts, id)
		o.out.words = append(o.out.words, w)
	}
}

// countIfPure is the units of a count instead of none.
func countIfPure(u pdu.Units) pdu.Units {
	if !hasDimension(u) && u.Extra() == 0 {
		return pdu.UnitCount
	}
	return u
}

// aggregate computes one value of all.
func (o *bound) aggregate() {
	in := &o.left.out
	if o.out.reset(in.err); in.err != 0 {
		return
	}
	if len(in.words) == 0 {
		if o.fn == fnAvg || o.fn == fnSum {
			o.out.one(o.desc.Type, 0)
		}
		return
	}
	var w uint64
	switch t := o.left.desc.Type; {
	case o.fn == fnAvg:
		var v float32
		n := float32(len(in.words))
		for _, w := range in.words {
			v += as[float32](w, t) / n
		}
		w = word(v)
	case o.fn == fnSum && t != pdu.TypeFloat && t != pdu.TypeDouble:
		w = sumOfIntegers(in.words, t)
	case t == pdu.Type32:
		w = aggregate[int32](o.fn, in.words, t)
	case t == pdu.TypeU32:
		w = aggregate[uint32](o.fn, in.words, t)
	case t == pdu.Type64:
		w = aggregate[int64](o.fn, in.words, t)
	case t == pdu.TypeU64:
		w = aggregate[uint64](o.fn, in.words, t)
	case t == pdu.TypeFloat:
		w = aggregate[float32](o.fn, in.words, t)
	default:
		w = aggregate[float64](o.fn, in.words, t)
	}
	o.out.insts, o.out.words = append(o.out.insts, pdu.NoInst), append(o.out.words, w)
}

// sumOfIntegers is a sum that overflows as one of their type: the lower bits are the same in all.
func sumOfIntegers(words []uint64, t pdu.Type) uint64 {
	sum := uint64(0)
	for _, w := range words {
		sum += w
	}
	if t == pdu.Type32 || t == pdu.TypeU32 {
		return uint64(uint32(sum))
	}
	return sum
}

func aggregate[T number](fn function, words []uint64, t pdu.Type) uint64 {
	v := as[T](words[0], t)
	switch fn {
	case fnSum:
		for _, w := range words[1:] {
			v += as[T](w, t)
		}
	case fnMax:
		for _, w := range words[1:] {
			v = max(v, as[T](w, t))
		}
	default:
		for _, w := range words[1:] {
			v = min(v, as[T](w, t))
		}
	}
	return word(v)
}

// A history is the values of an operand at the fetch before.
type history struct {
	valid bool
	at    time.Time
	column
}

// difference computes what has changed since the fetch before, for rate in a unit of time.
func (o *bound) difference(at Moment) {
	in, was := &o.left.out, &o.state
	o.out.reset(in.err)
	switch {
	case !was.valid || in.err != 0:
	case was.err != 0: // there is nothing to compare with, for this reason
		o.out.err = was.err
	default:
		n, w := o.out.match(in, &was.column, &o.matched)
		o.changes(n, w, difference.Step{Elapsed: at.Time.Sub(was.at), Backwards: at.Backwards})
	}
	was.valid, was.at = true, at.Time
	was.reset(in.err)
	was.insts, was.words = append(was.insts, in.insts...), append(was.words, in.words...)
}

// inSeconds is how many seconds the unit of the operand has, 1 if it has no dimension in time.
func (o *bound) inSeconds() float64 {
	u := o.left.desc.Units
	if u.DimTime() == 0 {
		return 1
	}
	return timeScales[u.ScaleTime()&15] / 1e9
}

// changes computes the changes of values, which are those of the instances of the result. An
// instance whose values cannot be compared has no value.
func (o *bound) changes(now, was []uint64, step difference.Step) {
	out, t := &o.out, o.left.desc.Type
	out.words = slices.Grow(out.words, len(now))[:len(now)]
	kind := difference.KindOf(t, o.left.desc.Sem == pdu.SemCounter, false)
	unit := o.inSeconds()
	n := 0
	for i := range now {
		from, err1 := kind.Sample(numberTypes[t].atom(was[i]))
		to, err2 := kind.Sample(numberTypes[t].atom(now[i]))
		rate, code := kind.Rate(from, to, step)
		if err1 != nil || err2 != nil || code != 0 {
			continue
		}
		w := word(rate * unit)
		switch {
		case o.fn == fnDelta && step.Backwards:
			w = delta(t, was[i], now[i])
		case o.fn == fnDelta:
			w = delta(t, now[i], was[i])
		}
		out.insts[n], out.words[n] = out.insts[i], w
		n++
	}
	out.insts, out.words = out.insts[:n], out.words[:n]
}

// delta is the change of one value of a type, exact for all integers but the greatest of TypeU64.
func delta(t pdu.Type, now, was uint64) uint64 {
	switch t {
	case pdu.Type32:
		return word(int32(now) - int32(was))
	case pdu.TypeU32:
		return word(int64(uint32(now)) - int64(uint32(was)))
	case pdu.Type64:
		return word(int64(now) - int64(was))
	case pdu.TypeU64:
		return word(float64(now) - float64(was))
	case pdu.TypeFloat:
		return word(as[float32](now, t) - as[float32](was, t))
	}
	return word(as[float64](now, t) - as[float64](was, t))
}
