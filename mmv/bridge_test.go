package mmv

import (
	"bytes"
	"context"
	"errors"
	"log"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
)

// readRegistry is what a reader finds in a registry: the values of each metric by instance.
func readRegistry(t testing.TB, r *Registry) map[string]map[string]float64 {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	f, err := Read(r.Source())
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]float64{}
	for _, m := range s.Metrics {
		values := map[string]float64{}
		for _, v := range m.Values {
			if values[v.Instance.Name], err = pdu.As[float64](v.Value); err != nil || v.Err != nil {
				t.Errorf("%s %s: %v, %v", m.Metric.Name, v.Instance.Name, err, v.Err)
			}
		}
		all[m.Metric.Name] = values
	}
	return all
}

// TestRuntime: all metrics of this Go release exist under their names, with the values of the
// runtime.
func TestRuntime(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40))
	r := &Registry{Name: "x"}
	r.AddRuntime("go")
	got := readRegistry(t, r)
	for _, d := range metrics.All() {
		name := goruntime.Name("go", d.Name)
		if setting, ok := goruntime.Setting(d); ok {
			if _, ok := got["go.godebug.non_default_behavior"][setting]; !ok {
				t.Errorf("%s: no instance %s", d.Name, setting)
			}
			continue
		}
		if d.Kind == metrics.KindFloat64Histogram {
			name += ".count"
		}
		if len(got[name]) != 1 {
			t.Errorf("%s: %s has %d values", d.Name, name, len(got[name]))
		}
	}
	if got := got["go.gc.gomemlimit_bytes"][""]; got != 1<<40 {
		t.Errorf("memory limit %v", got)
	}
	before := got["go.gc.cycles.forced_gc_cycles"][""]
	runtime.GC()
	if after := readRegistry(t, r)["go.gc.cycles.forced_gc_cycles"][""]; after <= before {
		t.Errorf("%v forced cycles, then %v", before, after)
	}
}

// TestRuntimeDistribution: the buckets of a distribution add up to its count, and quantiles
// ascend.
func TestRuntimeDistribution(t *testing.T) {
	r := &Registry{Name: "x"}
	r.AddRuntime("app.go")
	runtime.GC()
	got := readRegistry(t, r)
	const name = "app.go.gc.pauses_seconds"
	sum := 0.0
	for bucket, n := range got[name+".buckets"] {
		if !strings.Contains(bucket, "s-") || n == 0 {
			t.Errorf("bucket %s has %v", bucket, n)
		}
		sum += n
	}
	if count := got[name+".count"][""]; count == 0 || count != sum {
		t.Errorf("count %v, buckets %v", count, sum)
	}
	for _, q := range []map[string]float64{got[name+".quantiles"], got[name+".recent"]} {
		in := []float64{q["p50"], q["p90"], q["p99"], q["max"]}
		if len(q) != 4 || in[0] <= 0 || !slices.IsSorted(in) || math.IsInf(in[3], 0) {
			t.Errorf("quantiles %v", q)
		}
	}
}

func TestRuntimeAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := &Registry{Name: "x"}
	r.AddRuntime("go")
	r.Source()
	n := math.Inf(1)
	for range 5 { // a bucket that comes to count is a new instance
		n = min(n, testing.AllocsPerRun(1000, func() { r.Source() }))
	}
	if n != 0 {
		t.Errorf("a read allocates %v times", n)
	}
}

func BenchmarkRuntime(b *testing.B) {
	r := &Registry{Name: "x"}
	r.AddRuntime("go")
	b.ReportAllocs()
	for b.Loop() {
		r.Source()
	}
}

// TestRuntimeConcurrent: readers disturb neither each other nor a file that is published
// meanwhile.
func TestRuntimeConcurrent(t *testing.T) {
	r := &Registry{Name: "x"}
	r.AddRuntime("go")
	if err := r.Publish(t.TempDir()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	defer r.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				r.Source()
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if got := readRegistry(t, r)["go.sched.gomaxprocs_threads"][""]; got != float64(runtime.GOMAXPROCS(0)) {
		t.Errorf("GOMAXPROCS is %v, want %d", got, runtime.GOMAXPROCS(0))
	}
}

func TestLogHandler(t *testing.T) {
	r := &Registry{Name: "x"}
	var out bytes.Buffer
	log := slog.New(r.LogHandler("log.records", slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	ctx := context.Background()
	log.Debug("not enabled")
	log.Info("one")
	log.With("a", 1).WithGroup("g").Warn("two", "b", 2)
	log.Log(ctx, slog.LevelWarn+1, "three")
	log.Log(ctx, slog.LevelError+9, "four")
	want := map[string]float64{"DEBUG": 0, "INFO": 1, "WARN": 2, "ERROR": 1}
	if d := cmp.Diff(want, readRegistry(t, r)["log.records"]); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if s := out.String(); strings.Count(s, "\n") != 4 || !strings.Contains(s, "level=WARN msg=two a=1 g.b=2\n") {
		t.Errorf("log:\n%s", s)
	}
}

func TestLogHandlerLowest(t *testing.T) {
	r := &Registry{Name: "x"}
	h := r.LogHandler("log.records", slog.NewTextHandler(new(bytes.Buffer), &slog.HandlerOptions{Level: slog.Level(math.MinInt32)}))
	slog.New(h).Log(context.Background(), -100, "trace")
	if got := readRegistry(t, r)["log.records"]["DEBUG"]; got != 1 {
		t.Errorf("%v records of DEBUG, want 1", got)
	}
}

func TestLogHandlerCountsOnly(t *testing.T) {
	r := &Registry{Name: "x"}
	log := slog.New(r.LogHandler("log.records", nil))
	log.With("a", 1).WithGroup("g").Debug("one")
	log.Error("two")
	want := map[string]float64{"DEBUG": 1, "INFO": 0, "WARN": 0, "ERROR": 1}
	if d := cmp.Diff(want, readRegistry(t, r)["log.records"]); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
}

// TestLogHandlerOfFirst wraps the program's first log handler in one that becomes the default.
// The first handler must still write what it wrote before.
func TestLogHandlerOfFirst(t *testing.T) {
	first, w, flags := slog.Default(), log.Writer(), log.Flags()
	defer func() {
		slog.SetDefault(first)
		log.SetOutput(w)
		log.SetFlags(flags)
		log.SetPrefix("")
	}()
	var out bytes.Buffer
	log.SetOutput(&out)
	log.SetFlags(0)
	log.SetPrefix("app: ")
	say := func() {
		slog.Debug("not enabled")
		slog.Info("a \"b\"\nc\xff", "level", slog.LevelWarn, "msg", "x y", "g", slog.GroupValue(slog.Int("n", 1)))
		slog.Default().With("a", 1).WithGroup("g").Warn("", "b", time.Second)
		log.Print("through package log")
	}
	say()
	want := strings.Replace(out.String(), "app: through", "app: INFO through", 1)
	out.Reset()
	r := &Registry{Name: "x"}
	slog.SetDefault(slog.New(r.LogHandler("log.records", slog.Default().Handler())))
	log.SetPrefix("")
	done := make(chan struct{})
	go func() {
		say()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the log hangs")
	}
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	if got := readRegistry(t, r)["log.records"]["INFO"]; got != 2 {
		t.Errorf("%v records of INFO, want 2", got)
	}
}

// countOnly is a handler that costs nothing.
type countOnly struct{ slog.Handler }

func (countOnly) Handle(context.Context, slog.Record) error { return nil }

func TestLogHandlerAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := &Registry{Name: "x"}
	h := r.LogHandler("log.records", countOnly{slog.DiscardHandler})
	record := slog.NewRecord(time.Now(), slog.LevelWarn, "x", 0)
	if n := testing.AllocsPerRun(100, func() { h.Handle(context.Background(), record) }); n != 0 {
		t.Errorf("a record allocates %v times", n)
	}
}
