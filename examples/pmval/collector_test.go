package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/pdu"
)

// The metrics of the scripted collector are named for what they do, after a letter for their
// semantics: "c." for counters, "v." for others. They are doubles unless the name says more. A step
// of a metric is its values at one fetch: a number, or []float64 for the instances from 0 on, of
// which those that are not numbers have no value; nil for no value; or an error. After the last
// step it is repeated.

const again = pdu.ErrAgain

var none = math.NaN()

// steps makes the Values of a metric of a type that goes through steps.
func steps(t pdu.Type, list ...any) func(n int, w *pdu.ResultWriter) {
	put := func(w *pdu.ResultWriter, inst pdu.InstID, v float64) {
		switch t {
		case pdu.Type32:
			w.Int32(inst, int32(v))
		case pdu.TypeU32:
			w.Uint32(inst, uint32(v))
		case pdu.Type64:
			w.Int64(inst, int64(v))
		case pdu.TypeU64:
			w.Uint64(inst, uint64(v))
		case pdu.TypeFloat:
			w.Float32(inst, float32(v))
		default:
			w.Float64(inst, v)
		}
	}
	return func(n int, w *pdu.ResultWriter) {
		switch v := list[min(n, len(list)-1)].(type) {
		case pdu.Error:
			w.Fail(v)
		case string:
			if t == pdu.TypeString {
				w.String(pdu.NoInst, v)
			} else {
				w.Bytes(t, pdu.NoInst, []byte(v))
			}
		case float64:
			put(w, pdu.NoInst, v)
		case int:
			put(w, pdu.NoInst, float64(v))
		case []float64:
			for i, v := range v {
				if v == v {
					put(w, pdu.InstID(i), v)
				}
			}
		}
	}
}

// sizes are numbers around the edges of the formats.
var sizes = []any{0., math.Copysign(0, -1), 1e-300, 1e-10, 0.05, 0.09999, 0.1, 0.5, 0.9999, 0.99991, 0.99999, 1., 9.999, 9.9991,
	10., 99.99, 99.991, 100., 999.9, 999.91, 1000., 9999., 9999.1, 9999.9, 10000., 123456.7, 1e100, math.Inf(1), math.Inf(-1),
	math.NaN(), math.Copysign(math.NaN(), -1), -1e-3, -0.5, -1., -123.4, -99999.}

var (
	abc      = pdu.MakeInDom(400, 1) // instances a, b and c
	growing  = pdu.MakeInDom(400, 2) // a, then others
	odd      = pdu.MakeInDom(400, 3) // long and other names, not in order
	empty    = pdu.MakeInDom(400, 4)
	long     = pdu.MakeInDom(400, 5) // a long name comes and goes
	notThere = pdu.MakeInDom(400, 6)
)

func instances(names ...string) []pdu.Instance {
	var list []pdu.Instance
	for i, name := range names {
		list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: name})
	}
	return list
}

// A metricAdder adds metrics to a collector.
type metricAdder struct{ scripted.Collector }

func (c *metricAdder) add(name string, t pdu.Type, sem pdu.Sem, u pdu.Units, d pdu.InDom, values func(n int, w *pdu.ResultWriter)) {
	c.Metrics = append(c.Metrics, scripted.Metric{Name: name, Values: values, Store: pdu.ErrPermission,
		Desc: pdu.Desc{PMID: pdu.MakePMID(400, 0, len(c.Metrics)), Type: t, Sem: sem, Units: u, InDom: d}})
}

// addBoth adds a metric as a counter and as an instantaneous value.
func (c *metricAdder) addBoth(name string, t pdu.Type, d pdu.InDom, list ...any) {
	c.add("c."+name, t, pdu.SemCounter, pdu.UnitCount, d, steps(t, list...))
	c.add("v."+name, t, pdu.SemInstant, pdu.UnitCount, d, steps(t, list...))
}

// newCollector makes the scripted collector of the comparisons.
func newCollector(t testing.TB) scripted.Collector {
	c := &metricAdder{scripted.Collector{InDoms: map[pdu.InDom]func(int) []pdu.Instance{
		abc:   func(int) []pdu.Instance { return instances("a", "b", "c") },
		empty: func(int) []pdu.Instance { return nil },
		growing: func(n int) []pdu.Instance {
			return instances("a", "b", "c")[:min(3, max(1, 2*n-1))]
		},
		odd: func(int) []pdu.Instance {
			list := instances("b with blank", "caf\u00e9", "", "a name longer than a column is", "a")
			list[0], list[3] = list[3], list[0]
			return list
		},
		long: func(n int) []pdu.Instance {
			return instances("a", "b", "just right for shifting", "too long for a column by one")[:[]int{2, 2, 3, 4, 2}[min(n, 4)]]
		},
	}}}
	c.addGaps()
	c.addInstances()
	c.addNumbers()
	c.addUnits()
	c.addStrings()
	c.addEvents(t)
	return c.Collector
}

// addGaps adds metrics with missing values and errors.
func (c *metricAdder) addGaps() {
	double := pdu.TypeDouble
	row := func(v ...float64) any { return v }
	c.addBoth("none", double, pdu.NoInDom, nil)
	c.addBoth("error", double, pdu.NoInDom, again)
	c.addBoth("good", double, pdu.NoInDom, 1., 2., 4., 7., 11.)
	c.addBoth("gaps", double, pdu.NoInDom, 1., 2., nil, 7., 11., 12., again, 13., 15., 18.)
	c.addBoth("late", double, pdu.NoInDom, nil, nil, 2., 4., 5.)
	c.addBoth("fails-first", double, pdu.NoInDom, again, nil, 2., 4., 5.)
	c.addBoth("alternates", double, pdu.NoInDom, 1., again, 2., again, 3., nil, 4., again, 5.)
	c.addBoth("i.gaps", double, abc, row(1, 2, 3), row(2, 4, 6), row(4, none, 7), nil, row(6, 7, 8), row(8, 9, 9), again,
		row(8, 9, 9), row(9, 10, 10), row(9, 10, 10, 11), row(10, 10, 10, 12))
	c.addBoth("i.late", double, abc, nil, again, row(1, 2, 3), row(2, 4, 6))
	c.addBoth("i.unlisted-after-a-gap", double, abc, row(1, 2, 3, 4), row(1, 2, 3), nil, row(1, 2, 3, 4), row(1, 2, 4), row(1, 2, none, 7))
	c.addBoth("two", pdu.Type32, pdu.NoInDom, row(1, 2))
}

// addInstances adds metrics whose instances come and go and have odd names.
func (c *metricAdder) addInstances() {
	row := func(v ...float64) any { return v }
	c.addBoth("i.grow", pdu.TypeU64, growing, row(10), row(10, 20), row(20, 30, 40), row(20, 30, 40, 50), row(30))
	c.addBoth("i.odd", pdu.Type32, odd, row(10, 20, 30, 40, 50))
	c.addBoth("i.odd64", pdu.TypeDouble, odd, row(10, 20, 30, 40, 50), row(10, 20))
	c.addBoth("i.empty", pdu.TypeFloat, empty, nil)
	c.addBoth("i.unlisted", pdu.TypeFloat, empty, row(none, 1, 2))
	c.addBoth("i.long", pdu.TypeDouble, long, row(1, 2), row(2, 3, 4), row(4, 4, 4), row(5, 5, 5, 5), row(6, 6, 6), row(7, 8))
	c.addBoth("i.nodomain", pdu.Type32, notThere, row(1))
	backwards := func(n int, w *pdu.ResultWriter) {
		for i := 5; i >= 0; i-- {
			w.Int32(pdu.InstID(i), int32(n*i))
		}
	}
	c.add("v.i.backwards", pdu.Type32, pdu.SemInstant, 0, abc, backwards)
	c.add("c.i.backwards", pdu.Type32, pdu.SemCounter, 0, abc, backwards)
}

// addNumbers adds metrics with numbers of all sizes, and counters that go backwards.
func (c *metricAdder) addNumbers() {
	c.addBoth("sizes", pdu.TypeDouble, pdu.NoInDom, sizes...)
	c.addBoth("float-sizes", pdu.TypeFloat, pdu.NoInDom, sizes...)
	var zeroes []any
	for _, v := range sizes {
		zeroes = append(zeroes, 0., v)
	}
	c.addBoth("from-0", pdu.TypeDouble, pdu.NoInDom, zeroes...)
	c.addBoth("32", pdu.Type32, pdu.NoInDom, math.MaxInt32, math.MinInt32, -1, 0, -5, 100, 4)
	c.addBoth("u32", pdu.TypeU32, pdu.NoInDom, 0x1p32-2, 1, 0, 5, 4)
	c.addBoth("64", pdu.Type64, pdu.NoInDom, 0x1p62, 0x1p61, 5, -5, 0)
	c.addBoth("u64", pdu.TypeU64, pdu.NoInDom, 0x1p62, 0x1p61, 5, 4)
	c.addBoth("float", pdu.TypeFloat, pdu.NoInDom, 1<<24, 1, 0, 5, 4)
	c.add("c.big", pdu.TypeU64, pdu.SemCounter, 0, pdu.NoInDom, func(n int, w *pdu.ResultWriter) {
		w.Uint64(pdu.NoInst, []uint64{1 << 63, 1<<63 + 4, 1<<63 + 2048, math.MaxUint64}[min(n, 3)])
	})
}

// addUnits adds metrics of all kinds of units, semantics and types.
func (c *metricAdder) addUnits() {
	add := func(name string, u pdu.Units) {
		for _, s := range []pdu.Sem{pdu.SemCounter, pdu.SemInstant} {
			c.add(name+"."+s.String(), pdu.Type32, s, u, pdu.NoInDom, steps(pdu.Type32, 0, 1000, 2_000_000))
		}
	}
	for scale, name := range []string{"ns", "us", "ms", "s", "min", "hour", "scale6"} {
		add("time."+name, pdu.MakeUnits(0, 1, 0, 0, scale, 0))
	}
	for _, d := range [][3]int{{1, 1, 0}, {0, 1, 1}, {1, -1, 0}, {0, -1, 0}, {0, 2, 0}, {-1, 1, 0}, {1, 0, 1}, {-1, 0, 0}, {0, -8, 0}, {1, 0, -1}} {
		name := fmt.Sprintf("%d,%d,%d", d[0], d[1], d[2])
		add("ms."+name, pdu.MakeUnits(d[0], d[1], d[2], 1, 2, 3))
		if d[1] != 0 {
			add("min."+name, pdu.MakeUnits(d[0], d[1], d[2], 1, 4, 3))
		}
	}
	for s := range pdu.Sem(6) {
		c.add(fmt.Sprintf("sem.%d", s), pdu.Type32, s, 0, pdu.NoInDom, steps(pdu.Type32, 1, 2))
	}
	for t := pdu.Type(-2); t < 14; t++ {
		c.add(fmt.Sprintf("type.%d", t), t, pdu.SemInstant, 0, pdu.NoInDom, steps(t, nil))
	}
	c.add("type.unknown", pdu.TypeUnknown, pdu.SemInstant, 0, pdu.NoInDom, steps(pdu.Type32, 1))
}

// addStrings adds strings and aggregates.
func (c *metricAdder) addStrings() {
	for i, s := range []string{"", "a", "a\nb", "tab\t\"quote\"", "caf\u00e9", "a string that is wider than a column", "12345678",
		"\x00\x00\x00\x00\x00\x00\xf0\x3f", "\x00\x00\xc0\x7f"} {
		for _, t := range []pdu.Type{pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic} {
			if t != pdu.TypeString || s == "" || s[0] != 0 {
				c.add(fmt.Sprintf("%v.%d", t, i), t, pdu.SemInstant, 0, pdu.NoInDom, steps(t, s))
			}
		}
	}
	c.add("i.strings", pdu.TypeString, pdu.SemDiscrete, 0, abc, func(_ int, w *pdu.ResultWriter) {
		w.String(0, "x")
		w.String(2, "a string that is wider than a column")
		w.String(3, "y")
	})
	c.add("c.string", pdu.TypeString, pdu.SemCounter, 0, pdu.NoInDom, steps(pdu.TypeString, "x"))
}

// addEvents adds event arrays.
func (c *metricAdder) addEvents(t testing.TB) {
	c.add("p.32", pdu.Type32, pdu.SemInstant, 0, pdu.NoInDom, steps(pdu.Type32, nil))
	first := c.Metrics[len(c.Metrics)-1].Desc.PMID
	params := []pdu.Atom{pdu.Int32(-5), pdu.Uint32(5), pdu.Int64(-55), pdu.Uint64(55), pdu.Float32(0.1), pdu.Float64(0.1),
		pdu.String("a \"b\"\n"), pdu.Aggregate([]byte("abcd"))}
	for _, a := range params[1:] {
		c.add("p."+a.Type.String(), a.Type, pdu.SemInstant, 0, pdu.NoInDom, steps(a.Type, nil))
	}
	records := func(b *pdu.EventBuilder) {
		at := func(d time.Duration) time.Time { return time.Unix(1_700_000_000, 123456789).Add(d) }
		b.Begin(at(0), 0)
		b.Begin(at(1), pdu.EventPoint)
		for i, a := range params {
			b.Param(first+pdu.PMID(i), a)
		}
		b.Param(pdu.MakePMID(400, 1, 77), pdu.Int32(5))
		b.Begin(at(time.Second), 0)
		b.Param(first, pdu.Int32(7))
		b.Missed(at(2), 0)
		b.Missed(at(2), 1)
		b.Missed(at(-400*24*time.Hour), 1234567)
		b.Begin(at(time.Hour), pdu.EventStart|pdu.EventEnd|pdu.EventID|pdu.EventParent|pdu.EventPoint|0x20)
	}
	array := func(high bool, f func(*pdu.EventBuilder)) []byte {
		b := pdu.EventBuilder{HighRes: high}
		f(&b)
		a, err := b.Atom()
		if err != nil {
			t.Fatal(err)
		}
		return a.Bytes()
	}
	low, nothing := array(false, records), array(false, func(*pdu.EventBuilder) {})
	event := func(name string, t pdu.Type, d pdu.InDom, values func(n int, w *pdu.ResultWriter)) {
		c.add("e."+name, t, pdu.SemInstant, 0, d, values)
	}
	event("low", pdu.TypeEvent, pdu.NoInDom, steps(pdu.TypeEvent, string(low)))
	event("high", pdu.TypeHighResEvent, pdu.NoInDom, steps(pdu.TypeHighResEvent, string(array(true, records))))
	event("gaps", pdu.TypeEvent, pdu.NoInDom, steps(pdu.TypeEvent, nil, string(nothing), again, string(low)))
	event("insts", pdu.TypeEvent, abc, func(n int, w *pdu.ResultWriter) {
		w.Bytes(pdu.TypeEvent, 2, nothing)
		w.Bytes(pdu.TypeEvent, 0, low)
		w.Bytes(pdu.TypeEvent, 7, low)
		w.Bytes(pdu.TypeEvent, 1, nothing)
	})
	event("grow", pdu.TypeEvent, growing, func(n int, w *pdu.ResultWriter) {
		for i := range min(3, n+1) {
			w.Bytes(pdu.TypeEvent, pdu.InstID(i), nothing)
		}
	})
}
