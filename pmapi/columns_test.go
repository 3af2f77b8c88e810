package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// after returns the times of rows as seconds after the start of a madeArchive.
func after(times []time.Time) (list []float64) {
	for _, t := range times {
		list = append(list, t.Sub(archiveStart).Seconds())
	}
	return list
}

func TestColumns(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name     string
		mode     pmapi.Mode
		origin   time.Duration
		interval time.Duration
		end      time.Duration // 0 for none
		times    []float64
		count    []float64 // the rate of made.count
		one, two []float64 // of made.load
	}{
		{"all", pmapi.ModeForward, 0, 10 * time.Second, 0, []float64{0, 10, 20, 30},
			[]float64{nan, 10, nan, nan}, []float64{100, 200, 151, 1000}, []float64{-100, -200, nan, nan}},
		{"window", pmapi.ModeForward, 5 * time.Second, 5 * time.Second, 15 * time.Second, []float64{5, 10, 15},
			[]float64{nan, 10, nan}, []float64{100, 200, 200}, []float64{-100, -200, nan}},
		{"back", pmapi.ModeBack, 20 * time.Second, 10 * time.Second, 10 * time.Second, []float64{20, 10},
			[]float64{nan, nan}, []float64{151, 200}, []float64{nan, -200}},
		{"records", pmapi.ModeForward, 0, 0, 15 * time.Second, []float64{0, 10},
			[]float64{nan, 10}, []float64{100, 200}, []float64{-100, -200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := counters(t).open(t, pmapi.ArchiveOptions{})
			if err := c.SetMode(t.Context(), tt.mode, archiveStart.Add(tt.origin), 0); err != nil {
				t.Fatal(err)
			}
			g := c.Group()
			pmapi.Add[float64](g, "made.count")
			pmapi.Add[int32](g, "made.none")
			pmapi.AddSet[int64](g, "made.load")
			end := time.Time{}
			if tt.end != 0 {
				end = archiveStart.Add(tt.end)
			}
			times, got, err := g.Columns(t.Context(), tt.interval, end)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.times, after(times)); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
			none := make([]float64, len(tt.times))
			for i := range none {
				none[i] = nan
			}
			want := []pmapi.Column{{"made.count", "", tt.count}, {"made.none", "", none}, {"made.load", "one", tt.one}, {"made.load", "two words", tt.two}}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			if err := g.Err(); !errors.Is(err, pdu.ErrName) {
				t.Errorf("Err: %v, want %v", err, pdu.ErrName)
			}
		})
	}
}

// TestColumnsInstances has an instance that returns with another number, while its former number
// belongs to another instance.
func TestColumnsInstances(t *testing.T) {
	m := newMadeArchive()
	m.metric("made.load", pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: madeDomain, Sem: pdu.SemInstant})
	for i, list := range [][]pdu.Instance{{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}}, {{ID: 2, Name: "a"}, {ID: 3, Name: "c"}}} {
		m.instances(time.Duration(i)*time.Minute, madeDomain, list...)
		m.record(t, time.Duration(i)*time.Minute, func(w *pdu.ResultWriter) {
			w.Begin(loadID)
			for _, in := range list {
				w.Float64(in.ID, float64(10*i)+float64(in.ID))
			}
		})
	}
	g := m.open(t, pmapi.ArchiveOptions{}).Group()
	pmapi.AddSet[float64](g, "made.load")
	_, got, err := g.Columns(t.Context(), 0, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	want := []pmapi.Column{{"made.load", "a", []float64{1, 12}}, {"made.load", "b", []float64{2, nan}}, {"made.load", "c", []float64{nan, 13}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// TestColumnsLive reads a source that is not an archive, with a metric of each kind.
func TestColumnsLive(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	src := &pmapitest.Source{Start: noon, End: noon.Add(time.Hour)}
	seconds := func(now time.Time, _ pdu.Instance) (int64, error) { return int64(now.Sub(noon) / time.Second), nil }
	pmapitest.Add(src, pmapitest.Metric[int64]{Name: "age", Units: pdu.TimeMSec, Value: seconds})
	pmapitest.Add(src, pmapitest.Metric[string]{Name: "text", Value: func(time.Time, pdu.Instance) (string, error) { return "x", nil }})
	src.BreakAt(noon.Add(3*time.Second), noon.Add(time.Minute))
	g := src.Context().Group()
	pmapi.Add[time.Duration](g, "age")
	pmapi.Add[uint32](g, "age")
	pmapi.Add[string](g, "text")
	_, got, err := g.Columns(t.Context(), time.Second, noon.Add(time.Minute))
	if !errors.Is(err, pdu.ErrIPC) {
		t.Errorf("error %v, want %v", err, pdu.ErrIPC)
	}
	nan := math.NaN()
	want := []pmapi.Column{{"age", "", []float64{0, .001, .002}}, {"age", "", []float64{0, 1, 2}}, {"text", "", []float64{nan, nan, nan}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if times, got, err := g.Columns(ended, time.Second, time.Time{}); err != nil || len(times) > 0 {
		t.Errorf("with a context that has ended: %v, %v", got, err)
	}
}

// TestColumnsAllocations checks that the number of allocations does not grow with the rows.
func TestColumnsAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := counters(t).open(t, pmapi.ArchiveOptions{})
	read := func(interval time.Duration) float64 {
		return testing.AllocsPerRun(5, func() {
			if err := c.SetMode(t.Context(), pmapi.ModeInterp, archiveStart, time.Second); err != nil {
				t.Fatal(err)
			}
			g := c.Group()
			pmapi.Add[float64](g, "made.count")
			pmapi.AddSet[uint32](g, "made.load")
			if _, _, err := g.Columns(t.Context(), interval, time.Time{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := read(time.Second), read(time.Millisecond); many > few+10 {
		t.Errorf("%v allocations for 31 rows, %v for 30001", few, many)
	}
}

// dayOfMetrics returns an archive of 24 hours with a number of counters, recorded every minute.
func dayOfMetrics(t testing.TB, metrics int) *madeArchive {
	m := newMadeArchive()
	id := func(i int) pdu.PMID { return pdu.MakePMID(400, i/1000, i%1000) }
	for i := range metrics {
		m.metric(fmt.Sprintf("made.m%d", i), pdu.Desc{PMID: id(i), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount})
	}
	for n := range 24*60 + 1 {
		m.record(t, time.Duration(n)*time.Minute, func(w *pdu.ResultWriter) {
			for i := range metrics {
				w.Begin(id(i))
				w.Uint64(pdu.NoInst, uint64(n*i))
			}
		})
	}
	return m
}

// BenchmarkDay replays 24 hours of 10 metrics second by second, from an archive with 1,000 metrics.
// One operation is the whole day.
func BenchmarkDay(b *testing.B) {
	c := dayOfMetrics(b, 1000).open(b, pmapi.ArchiveOptions{})
	for _, interval := range []time.Duration{time.Second, time.Minute} {
		group := func() *pmapi.Group {
			if err := c.SetMode(b.Context(), pmapi.ModeForward, archiveStart, 0); err != nil {
				b.Fatal(err)
			}
			g := c.Group()
			for i := range 10 {
				pmapi.Add[float64](g, fmt.Sprintf("made.m%d", 1+100*i))
			}
			return g
		}
		rows := int(24*time.Hour/interval) + 1
		check := func(b *testing.B, got int) {
			if got != rows {
				b.Fatalf("%d rows, want %d", got, rows)
			}
		}
		b.Run(fmt.Sprintf("every=%v", interval), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g, n := group(), 0
				for _, err := range g.Every(b.Context(), interval) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				check(b, n)
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
		b.Run(fmt.Sprintf("columns=%v", interval), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				times, _, err := group().Columns(b.Context(), interval, time.Time{})
				if err != nil {
					b.Fatal(err)
				}
				check(b, len(times))
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
