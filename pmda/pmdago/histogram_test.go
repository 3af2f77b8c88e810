package pmdago

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// collect returns the values that a Values function adds, by instance name.
func collect(t testing.TB, values func(s *pmda.Values[float64])) map[string]float64 {
	t.Helper()
	a := &pmda.Agent{Name: "x", Domain: 251}
	var list []string
	for _, q := range goruntime.QuantileNames {
		list = append(list, q)
	}
	pmda.Register(a, pmda.Metric[float64]{Name: "x.x", InDom: a.AddInDom("q", list...), Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[float64]) error {
		values(s)
		return nil
	}})
	got := map[string]float64{}
	atoms, err := fetch(t, a, "x.x")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range atoms {
		got[goruntime.QuantileNames[i]], _ = pdu.As[float64](v)
	}
	return got
}

func TestQuantiles(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name           string
		limits         []float64
		before, counts []uint64
		want           map[string]float64
	}{
		{"nothing", []float64{0, 1, 2}, nil, []uint64{0, 0}, map[string]float64{}},
		{"nothing lately", []float64{0, 1, 2}, []uint64{5, 7}, []uint64{5, 7}, map[string]float64{}},
		{"one", []float64{0, 1, 2}, nil, []uint64{0, 1}, map[string]float64{"p50": 2, "p90": 2, "p99": 2, "max": 2}},
		{"two", []float64{0, 1, 2}, nil, []uint64{1, 1}, map[string]float64{"p50": 1, "p90": 2, "p99": 2, "max": 2}},
		{"hundred", []float64{0, 1, 2, 3, 4}, nil, []uint64{50, 40, 9, 1}, map[string]float64{"p50": 1, "p90": 2, "p99": 3, "max": 4}},
		{"lately", []float64{0, 1, 2, 3}, []uint64{1000, 0, 0}, []uint64{1000, 1, 1}, map[string]float64{"p50": 2, "p90": 3, "p99": 3, "max": 3}},
		{"no limits", []float64{-inf, 0, inf}, nil, []uint64{1, 1}, map[string]float64{"p50": 0, "p90": 0, "p99": 0, "max": 0}},
		{"huge", []float64{0, 1, 2}, nil, []uint64{1 << 62, 1}, map[string]float64{"p50": 1, "p90": 1, "p99": 1, "max": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &metrics.Float64Histogram{Counts: c.counts, Buckets: c.limits}
			got := collect(t, func(s *pmda.Values[float64]) { putQuantiles(s, h, c.before, false) })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuantilesOfTimes checks that quantiles of times are in microseconds.
func TestQuantilesOfTimes(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{1, 1}, Buckets: []float64{math.Inf(-1), 6.4e-08, 1.024e-05}}
	got := collect(t, func(s *pmda.Values[float64]) { putQuantiles(s, h, nil, true) })
	if diff := cmp.Diff(map[string]float64{"p50": 0.064, "p90": 10.24, "p99": 10.24, "max": 10.24}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBuckets checks that non-empty buckets become instances and keep their IDs and names.
func TestBuckets(t *testing.T) {
	const name = "go.sched.pauses.total.gc_seconds"
	a := newAgent(Options{}, metrics.All(), time.Now)
	runtime.GC()
	d := a.histograms[serialOfKnown+62]
	list, err := a.Instances(t.Context(), request(), d.indom.ID(), pdu.NoInst, "")
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	values, err := fetch(t, a.Agent, name+".buckets")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if n, err := pdu.As[uint64](values[i.ID]); err != nil || n == 0 {
			t.Errorf("%v: %d, %v", i, n, err)
		}
	}
	sets, err := a.Labels(t.Context(), request(), pdu.LabelsOfInstances(d.indom.ID()))
	if err != nil || len(sets) < len(list) || len(sets[0].Labels) != 2 {
		t.Errorf("labels: %v, %v", sets, err)
	}
	before := one[uint64](t, a.Agent, name+".count")
	runtime.GC()
	if after := one[uint64](t, a.Agent, name+".count"); after < before+2 {
		t.Errorf("count %d, then %d: a collection pauses twice", before, after)
	}
	for _, q := range []string{".quantiles", ".recent"} {
		if v, err := fetch(t, a.Agent, name+q); err != nil || len(v) != 4 {
			t.Errorf("%s: %v, %v", q, v, err)
		}
	}
}

func TestListed(t *testing.T) {
	var h histogram
	h.indom.SetInstances(pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 3, Name: "b"})
	for _, c := range []struct {
		counts []uint64
		want   bool
	}{
		{[]uint64{0, 1, 0, 1}, true},
		{[]uint64{0, 9, 0, 9, 0}, true},
		{[]uint64{0, 1, 0, 0}, false},
		{[]uint64{0, 1, 1, 0}, false}, // the same number, but others
		{[]uint64{0, 1, 0, 1, 1}, false},
		{[]uint64{1, 1, 0, 1}, false},
		{nil, false},
	} {
		if got := h.listed(c.counts); got != c.want {
			t.Errorf("%v: %v", c.counts, got)
		}
	}
}

func TestBucketLabels(t *testing.T) {
	h := histogram{limits: []float64{math.Inf(-1), 0, 6.4e-08, math.Inf(1)}}
	var got []string
	for i := range 3 {
		got = append(got, h.labels(pdu.Instance{ID: pdu.InstID(i)}))
	}
	if diff := cmp.Diff([]string{`{"lt":0}`, `{"ge":0,"lt":6.4e-8}`, `{"ge":6.4e-8}`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
