package pmapi_test

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A difference is the value of one metric in a sample: a number, or the code of an error.
type difference struct {
	v    float64
	code pdu.Error
}

func differenceOf(v float64, err error) difference { return difference{v, pdu.FromError(err)} }

// TestTwoSamples checks that items of a group and derived metrics agree about two samples.
func TestTwoSamples(t *testing.T) {
	src := &pmapitest.Source{Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	var now uint64
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c.u64", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(time.Time, pdu.Instance) (uint64, error) { return now, nil }})
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "c.u32", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(time.Time, pdu.Instance) (uint32, error) { return uint32(now), nil }})
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "c.f64", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(time.Time, pdu.Instance) (float64, error) { return float64(now), nil }})
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "gauge", Units: pdu.UnitCount,
		Value: func(time.Time, pdu.Instance) (uint64, error) { return now, nil }})
	src.Derived = new(pmapi.Derived)
	for name, expr := range map[string]string{
		"rate.u64": "rate(c.u64)", "rate.u32": "rate(c.u32)", "rate.f64": "rate(c.f64)", "delta.u64": "delta(c.u64)", "rate.gauge": "rate(gauge)",
	} {
		if err := src.Derived.Define(name, expr); err != nil {
			t.Fatal(err)
		}
	}
	g := src.Context().Group()
	counters := map[string]*pmapi.Item[float64]{}
	for _, name := range []string{"c.u64", "c.u32", "c.f64", "rate.u64", "rate.u32", "rate.f64", "delta.u64"} {
		counters[name] = pmapi.Add[float64](g, name)
	}
	gauge := pmapi.Add[float64](g, "rate.gauge")
	for i, step := range []struct {
		pass        time.Duration
		value       uint64
		rate, gauge difference
	}{
		{0, 100, difference{0, pdu.ErrAgain}, difference{0, pdu.ErrValue}},
		{time.Second, 200, difference{100, 0}, difference{100, 0}},
		{time.Second, 50, difference{0, pdu.ErrValue}, difference{-150, 0}}, // reset
		{time.Second, 60, difference{10, 0}, difference{10, 0}},
		{0, 70, difference{0, pdu.ErrValue}, difference{0, pdu.ErrValue}},                 // no time has passed
		{-10 * time.Second, 80, difference{0, pdu.ErrValue}, difference{0, pdu.ErrValue}}, // the clock was set back
		{time.Second, 90, difference{10, 0}, difference{10, 0}},
		{time.Second, math.MaxUint32, difference{math.MaxUint32 - 90, 0}, difference{math.MaxUint32 - 90, 0}},
	} {
		src.Advance(step.pass)
		now = step.value
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, item := range counters {
			want := step.rate
			if i == 0 && name[0] != 'c' {
				want.code = pdu.ErrValue // a derived metric has no value yet
			}
			if got := differenceOf(item.Value()); got != want {
				t.Errorf("sample %d of %s: got %v, want %v", i, name, got, want)
			}
		}
		if got := differenceOf(gauge.Value()); got != step.gauge {
			t.Errorf("sample %d of the gauge: got %v, want %v", i, got, step.gauge)
		}
	}
}

// TestTwoSamplesBackwards checks that rates of an archive are the same in both directions.
func TestTwoSamplesBackwards(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "a")
	im, err := logimport.New(path, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := im.AddMetric("c", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount}); err != nil {
		t.Fatal(err)
	}
	for i, v := range []uint64{1000, 1010, 1040, 5, 25} { // each second
		if err := im.Put("c", "", pdu.Uint64(v)); err != nil {
			t.Fatal(err)
		}
		if err := im.Write(noon.Add(time.Duration(i) * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Close(); err != nil {
		t.Fatal(err)
	}
	d := new(pmapi.Derived)
	for name, expr := range map[string]string{"d.rate": "rate(c)", "d.delta": "delta(c)"} {
		if err := d.Define(name, expr); err != nil {
			t.Fatal(err)
		}
	}
	none := difference{0, pdu.ErrValue}
	for _, tt := range []struct {
		mode pmapi.Mode
		from time.Duration
		step time.Duration
		want []difference
	}{
		{pmapi.ModeInterp, 0, time.Second, []difference{none, {10, 0}, {30, 0}, none, {20, 0}}},
		{pmapi.ModeInterp, 4 * time.Second, -time.Second, []difference{none, {20, 0}, none, {30, 0}, {10, 0}}},
		{pmapi.ModeForward, 0, 0, []difference{none, {10, 0}, {30, 0}, none, {20, 0}}},
		{pmapi.ModeBack, 4 * time.Second, 0, []difference{none, {20, 0}, none, {30, 0}, {10, 0}}},
	} {
		c, err := pmapi.ArchiveOptions{Derived: d}.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetMode(t.Context(), tt.mode, noon.Add(tt.from), tt.step); err != nil {
			t.Fatal(err)
		}
		g := c.Group()
		items := map[string]*pmapi.Item[float64]{}
		for _, name := range []string{"c", "d.rate", "d.delta"} {
			items[name] = pmapi.Add[float64](g, name)
		}
		for i, want := range tt.want {
			if _, err := g.Fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name, item := range items {
				want := want
				if i == 0 && name == "c" {
					want.code = pdu.ErrAgain // a derived metric has just no value
				}
				if got := differenceOf(item.Value()); got != want {
					t.Errorf("%v by %v: sample %d of %s: got %v, want %v", tt.mode, tt.step, i, name, got, want)
				}
			}
		}
		c.Close()
	}
}
