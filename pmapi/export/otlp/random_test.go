package otlp_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var oddTexts = []string{"", "a", "sda", "ü", "\"\\", "\x00\x1f\x7f", "\xff\xfe", "<&>", "\u2028", "😀"}

var oddLabels = []string{``, `{"a":1}`, `{"a":"x","b":[1,2.5,"y",null,true]}`, `{"a":{"b":{"c":-1}},"instname":"no"}`, `{"big":123456789012345678901234567890,"e":1e400}`,
	`{"t":true,"n":null,"s":"\u00e9\n"}`, `{"buckets":"disjoint","le":"1"}`, `{"value":1,"instid":2}`}

// A walk changes a source at random: values, resets, failures, instances, labels, units and names.
type walk struct {
	*rapid.T
	src    *pmapitest.Source
	domain *pmapitest.InDom
	ints   []*pmapitest.Metric[uint64]
	floats []*pmapitest.Metric[float64]
	words  []*pmapitest.Metric[string]
	insts  int
}

func (w *walk) labels() string { return rapid.SampledFrom(oddLabels).Draw(w.T, "labels") }

func (w *walk) setInstances() {
	var list []pdu.Instance
	w.insts = rapid.IntRange(0, 4).Draw(w.T, "instances")
	for i := range w.insts {
		list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprint(rapid.SampledFrom(oddTexts).Draw(w.T, "name"), i)})
	}
	w.domain.SetInstances(list...)
}

func (w *walk) add() {
	sem := rapid.SampledFrom([]pdu.Sem{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete})
	for i := range 3 {
		var d *pmapitest.InDom
		if i > 0 {
			d = w.domain
		}
		units := pdu.Units(rapid.Uint32().Draw(w.T, "units")) &^ 0xf0 // only a few extra units exist
		text := rapid.SampledFrom(oddTexts).Draw(w.T, "text")
		w.ints = append(w.ints, pmapitest.Add(w.src, pmapitest.Metric[uint64]{Name: fmt.Sprint("i", i), InDom: d, Sem: sem.Draw(w.T, "sem"), Units: units, Text: text, Labels: w.labels()}))
		w.floats = append(w.floats, pmapitest.Add(w.src, pmapitest.Metric[float64]{Name: fmt.Sprint("f", i), InDom: d, Sem: sem.Draw(w.T, "sem"), Labels: w.labels()}))
		w.words = append(w.words, pmapitest.Add(w.src, pmapitest.Metric[string]{Name: fmt.Sprint("s", i), InDom: d, Sem: sem.Draw(w.T, "sem"), Labels: w.labels()}))
	}
}

// values sets the values of all metrics, or makes some fail.
func (w *walk) values() {
	n := func(i int) int {
		if i == 0 {
			return 1
		}
		return w.insts
	}
	for i, m := range w.ints {
		m.Set(rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 50), rapid.Uint64()), n(i), n(i)).Draw(w.T, "ints")...)
	}
	for i, m := range w.floats {
		odd := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -0., 5e-324, math.MaxFloat64})
		m.Set(rapid.SliceOfN(rapid.OneOf(rapid.Float64(), odd), n(i), n(i)).Draw(w.T, "floats")...)
	}
	for i, m := range w.words {
		m.Set(rapid.SliceOfN(rapid.SampledFrom(oddTexts), n(i), n(i)).Draw(w.T, "words")...)
	}
	if rapid.IntRange(0, 3).Draw(w.T, "fail") == 0 {
		w.ints[rapid.IntRange(0, 2).Draw(w.T, "which")].Fail(pdu.ErrAgain)
	}
}

// TestRandom: for any source, the strict reader accepts each message, a counter never falls without
// a new start time, and a series ends once. A metric that has had double values keeps to doubles.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{T: rt, src: &pmapitest.Source{Start: start, Labels: rapid.SampledFrom(oddLabels).Draw(rt, "host labels")}}
		defer w.src.Close()
		w.domain = w.src.InDom()
		w.setInstances()
		w.domain.SetLabels(w.labels(), func(i pdu.Instance) string { return oddLabels[int(i.ID)%len(oddLabels)] })
		w.add()
		b := &bench{t: t, src: w.src, r: &export.Reader{Context: w.src.Context()}, e: otlp.Encoder{Strings: true}}
		defer b.r.Context.Close()
		last, doubles := map[string]series{}, map[string]bool{}
		for range 6 {
			w.values()
			for _, p := range b.read().points {
				monotone(rt, last, p)
				if _, double := p.value.(float64); double {
					doubles[p.metric] = true
				} else if p.value != nil && p.kind != "histogram" && doubles[p.metric] {
					rt.Errorf("%s is %v after it was a double", p.id(), p.value)
				}
			}
			switch rapid.IntRange(0, 3).Draw(rt, "change") {
			case 0:
				w.setInstances()
			case 1:
				w.ints[0].SetLabels(w.labels())
				w.src.Notify(pdu.ChangeLabels)
			case 2:
				b.r.Refresh = 1 // read all metadata again
			}
		}
	})
}

// monotone checks a point against the last one of its series: sums do not fall, and ends are not
// repeated.
func monotone(t interface{ Errorf(string, ...any) }, last map[string]series, p series) {
	before, known := last[p.id()]
	last[p.id()] = p
	if p.value == nil && (!known || before.value == nil) {
		t.Errorf("%s ends, and was not there: %v after %v", p.id(), p, before)
	}
	if !known || p.kind == "gauge" {
		return
	}
	if p.start < before.start || p.time <= before.time {
		t.Errorf("%s: start and time go back: %v after %v", p.id(), p, before)
	}
	if p.value == nil || before.value == nil || p.start != before.start {
		return
	}
	if counts, ok := p.value.([]uint64); ok {
		old := before.value.([]uint64)
		for i, n := range counts {
			if len(counts) == len(old) && n < old[i] {
				t.Errorf("%s falls from %v to %v", p.id(), old, counts)
			}
		}
		return
	}
	if number(p.value) < number(before.value) {
		t.Errorf("%s falls from %v to %v", p.id(), before.value, p.value)
	}
}

func number(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

// bigSource returns a snapshot of metrics with four instances each.
func bigSource(t testing.TB, metrics int) *export.Snapshot {
	src := &pmapitest.Source{}
	t.Cleanup(func() { src.Close() })
	d := src.InDom("a", "b", "c", "d")
	for i := range metrics {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: fmt.Sprintf("m%d", i), InDom: d, Sem: pdu.SemCounter}).Set(1, 2, 3, 4)
	}
	s, err := (&export.Reader{Context: src.Context()}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAppendAllocatesNothing: encoding known series does not allocate, even for histograms.
func TestAppendAllocatesNothing(t *testing.T) {
	for name, s := range map[string]*export.Snapshot{"sums": bigSource(t, 50), "histograms": bucketSource(t, 50), "sums in JSON": bigSource(t, 50)} {
		e := otlp.Encoder{JSON: strings.Contains(name, "JSON")}
		b := e.Append(nil, s)
		for range 2 {
			b = e.Append(b[:0], s)
		}
		if n := testing.AllocsPerRun(10, func() { b = e.Append(b[:0], s) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// bucketSource returns a snapshot of histograms with four buckets each.
func bucketSource(t testing.TB, metrics int) *export.Snapshot {
	src := &pmapitest.Source{}
	t.Cleanup(func() { src.Close() })
	d := src.InDom("a", "b", "c", "d")
	d.SetLabels(`{"buckets":"disjoint"}`, func(i pdu.Instance) string { return fmt.Sprintf(`{"le":%d}`, i.ID) })
	for i := range metrics {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: fmt.Sprintf("h%d", i), InDom: d, Sem: pdu.SemCounter}).Set(1, 2, 3, 4)
	}
	s, err := (&export.Reader{Context: src.Context()}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkAppend(b *testing.B) {
	for name, s := range map[string]*export.Snapshot{"sums": bigSource(b, 1000), "histograms": bucketSource(b, 1000), "JSON": bigSource(b, 1000)} {
		b.Run("kind="+name, func(b *testing.B) {
			e := otlp.Encoder{JSON: name == "JSON"}
			page := e.Append(nil, s)
			for range 2 {
				page = e.Append(page[:0], s)
			}
			points := e.Points()
			b.ReportAllocs()
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				page = e.Append(page[:0], s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(points), "ns/point")
		})
	}
}
