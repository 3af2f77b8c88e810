package sample

import (
	"math"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// counters are values that grow with each fetch.
type counters struct {
	wrap      wrapping
	slow      wrapping
	rapid     uint32
	m32       int32
	m64       int64
	mFloat    float32
	mDouble   float64
	constRate struct {
		value, gradient uint32
		at              time.Time // when the value was computed
	}
}

// wrapping are counters that wrap.
type wrapping struct {
	long      int32
	ulong     uint32
	longlong  int64
	ulonglong uint64
}

func (s *sample) registerCounters() {
	c := &s.counters
	addWrapping(s, 57, "wrap", &c.wrap, wrapping{math.MaxInt32/2 - 1, math.MaxUint32/2 - 1, math.MaxInt64/2 - 1, math.MaxUint64/2 - 1})
	addWrapping(s, 160, "slow_wrap", &c.slow, wrapping{math.MaxInt32/10 - 1, math.MaxInt32/10 - 1, math.MaxInt64/10 - 1, math.MaxInt64/10 - 1})
	add(s, 64, pmda.Metric[uint32]{Name: "rapid", Sem: pdu.SemCounter, Units: pdu.UnitCount, Labels: rapidLabels, Value: growing(&c.rapid, 8e8)})
	s.registerNegative()
	s.registerConstRate()
}

// addWrapping adds four counters that grow by the values of step.
func addWrapping(s *sample, item int, group string, w *wrapping, step wrapping) {
	add(s, item, pmda.Metric[int32]{Name: group + ".long", Sem: pdu.SemCounter, Value: growing(&w.long, step.long)})
	add(s, item+1, pmda.Metric[uint32]{Name: group + ".ulong", Sem: pdu.SemCounter, Value: growing(&w.ulong, step.ulong)})
	add(s, item+2, pmda.Metric[int64]{Name: group + ".longlong", Sem: pdu.SemCounter, Value: growing(&w.longlong, step.longlong)})
	add(s, item+3, pmda.Metric[uint64]{Name: group + ".ulonglong", Sem: pdu.SemCounter, Value: growing(&w.ulonglong, step.ulonglong)})
}

// growing returns a function that increases a number and returns it.
func growing[T int32 | uint32 | int64 | uint64 | float32 | float64](v *T, step T) valueFunc[T] {
	return of(func() T {
		*v += step
		return *v
	})
}

// registerNegative adds four numbers that are negative at first, with three semantics each.
func (s *sample) registerNegative() {
	c := &s.counters
	c.m32, c.m64, c.mFloat, c.mDouble = -10000, -10000, -10000, -10000
	names := []string{"ctr", "instant", "discrete"}
	for i, sem := range []pdu.Sem{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete} {
		item, group := 141+4*i, "negative."+names[i]
		add(s, item, pmda.Metric[int32]{Name: group + ".m_32", Sem: sem, Value: growing(&c.m32, 1)})
		storeWord(s, item, storesInto(&c.m32))
		add(s, item+1, pmda.Metric[int64]{Name: group + ".m_64", Sem: sem, Value: growing(&c.m64, 1)})
		storeBlock(s, item+1, func(v int64) { c.m64 = v })
		add(s, item+2, pmda.Metric[float32]{Name: group + ".m_float", Sem: sem, Value: growing(&c.mFloat, 1)})
		storeFloat(s, item+2, func(v float32) { c.mFloat = v })
		add(s, item+3, pmda.Metric[float64]{Name: group + ".m_double", Sem: sem, Value: growing(&c.mDouble, 1)})
		storeBlock(s, item+3, func(v float64) { c.mDouble = v })
	}
}

// registerConstRate adds a counter that grows with time, and its rate.
func (s *sample) registerConstRate() {
	c := &s.counters.constRate
	c.value, c.at = 10<<20, time.Unix(0, 0) // the first rate counts from 1970, as in PCP's agent
	add(s, 72, pmda.Metric[uint32]{Name: "const_rate.value", Sem: pdu.SemCounter, Units: pdu.UnitCount, Value: of(func() uint32 {
		now := time.Now()
		c.value += uint32(uint64(float64(c.gradient) * now.Sub(c.at).Seconds()))
		c.at = now
		return c.value
	})})
	storeWord(s, 72, storesInto(&c.value))
	add(s, 73, pmda.Metric[uint32]{Name: "const_rate.gradient", Value: variable(&c.gradient)})
	storeWord(s, 73, storesInto(&c.gradient))
}
