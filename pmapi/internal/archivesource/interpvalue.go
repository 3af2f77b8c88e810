package archivesource

import (
	"fmt"
	"math"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// malformed is an error about a record.
func malformed(rec *archive.Record, format string, args ...any) error {
	e := &archive.Error{Offset: rec.Offset, Record: rec.Number,
		Err: fmt.Errorf("%w: %s", pdu.ErrLogRec, fmt.Sprintf(format, args...))}
	if rec.File != nil {
		e.File = rec.File.Path()
	}
	return e
}

// write adds the values of a metric at a time. passed says that a mark follows the previous fetch.
func (p *interpolator) write(w *pdu.ResultWriter, m *metricState, t moment, passed bool) {
	m.has = false
	if m.code != 0 {
		w.Fail(m.code)
		return
	}
	if passed && m.had && m.desc.Sem == pdu.SemCounter {
		return // no caller must compute a rate across a mark
	}
	for _, n := range m.order {
		i := &m.insts[n]
		if !i.wanted || !m.hasValue(i, t) {
			continue
		}
		m.has = true
		switch {
		case i.prior.at != t && m.desc.Sem == pdu.SemCounter:
			w.Atom(i.id, p.between(i, t))
		case m.nearest && i.nextIsNearer(t):
			i.next.write(w, i.id)
		default:
			i.prior.write(w, i.id)
		}
	}
}

// nextIsNearer reports whether the value after a time is nearer to it than the one before. Since
// PCP 6.3.2 a number that is not a counter has the nearest value. Of two at the same distance the
// earlier one counts.
func (i *instanceState) nextIsNearer(t moment) bool {
	return i.prior.at != t && i.next.kind == value && i.next.at-t < t-i.prior.at
}

// write adds a value as it was recorded.
func (b *bound) write(w *pdu.ResultWriter, id pdu.InstID) {
	switch t := b.atom.Type; {
	case isNumber(t):
		w.Atom(id, b.atom)
	case t == pdu.TypeString:
		w.String(id, string(b.text))
	default:
		w.Bytes(t, id, b.text)
	}
}

// hasValue reports whether an instance has a value at a time.
func (m *metricState) hasValue(i *instanceState, t moment) bool {
	switch {
	case i.prior.kind != value:
		return false
	case m.desc.Sem == pdu.SemDiscrete:
		return t >= i.born && t <= i.died
	}
	return i.prior.at == t || i.next.kind == value
}

// between is the value of a counter between two others, rounded as by the C library.
func (p *interpolator) between(i *instanceState, t moment) pdu.Atom {
	prior, next, now := p.seconds(i.prior.at), p.seconds(i.next.at), p.seconds(t)
	part := func(change float64) float64 { return (now - prior) * change / (next - prior) }
	switch a, b := i.prior.atom, i.next.atom; a.Type {
	case pdu.Type32:
		return pdu.Int32(between32(number[int32](a), number[int32](b), part, p.s.opts.CounterWrap))
	case pdu.TypeU32:
		return pdu.Uint32(betweenU32(number[uint32](a), number[uint32](b), part, p.s.opts.CounterWrap))
	case pdu.Type64:
		v, n := float64(number[int64](a)), float64(number[int64](b))
		return pdu.Int64(int64(0.5 + v + part(n-v)))
	case pdu.TypeU64:
		return pdu.Uint64(betweenU64(number[uint64](a), number[uint64](b), part, p.s.opts.CounterWrap))
	case pdu.TypeFloat:
		v, n := number[float32](a), number[float32](b)
		return pdu.Float32(float32(float64(v) + part(float64(n-v))))
	default:
		v, n := number[float64](a), number[float64](b)
		return pdu.Float64(v + part(n-v))
	}
}

func between32(v, n int32, part func(float64) float64, wrap bool) int32 {
	if n < v && wrap {
		return v + int32(0.5+part(float64(int32(uint32(n)-uint32(v))))) // 2^32 - v + n
	}
	return int32(0.5 + float64(v) + part(float64(n)-float64(v)))
}

func betweenU32(v, n uint32, part func(float64) float64, wrap bool) uint32 {
	switch {
	case n >= v:
		return uint32(0.5 + float64(v) + part(float64(n-v)))
	case wrap:
		return v + uint32(0.5+part(float64(n-v)))
	}
	return uint32(0.5 + float64(v) - part(float64(v-n)))
}

func betweenU64(v, n uint64, part func(float64) float64, wrap bool) uint64 {
	switch {
	case n >= v:
		return toUint64(0.5 + float64(v) + part(float64(n-v)))
	case wrap:
		return toUint64(0.5 + float64(v) + part(math.Exp2(64)-float64(v)+float64(n)))
	}
	return toUint64(0.5 + float64(v) - part(float64(v-n)))
}

// toUint64 truncates a number that may have been rounded up to 2^64, which is 0 in the C library.
func toUint64(f float64) uint64 {
	if f >= math.Exp2(64) {
		return 0
	}
	return uint64(f)
}

// number is the value of an atom of the same type.
func number[T int32 | uint32 | int64 | uint64 | float32 | float64](a pdu.Atom) T {
	v, _ := pdu.As[T](a) // of the same type it cannot fail
	return v
}
