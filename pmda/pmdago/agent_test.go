package pmdago

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

func TestConformance(t *testing.T) {
	runtime.GC() // so that no histogram is empty
	start := func() pmda.Handler { return New(Options{CommandLine: true}) }
	pmdatest.Run(t, start(), pmdatest.Texts(), pmdatest.Changing(), pmdatest.Stores(), pmdatest.Restart(start))
}

// fetch returns the values of a metric by instance.
func fetch(t testing.TB, a *pmda.Agent, name string) (map[pdu.InstID]pdu.Atom, error) {
	t.Helper()
	id, err := a.Namespace().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Desc(t.Context(), request(), id)
	if err != nil {
		t.Fatal(err)
	}
	var w pdu.ResultWriter
	if err := a.Fetch(t.Context(), request(), []pdu.PMID{id}, &w); err != nil {
		t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	return maps.Collect(res.At(0).All(d.Type)), res.At(0).Err()
}

// one returns the value of a singular metric.
func one[T pdu.Scalar](t testing.TB, a *pmda.Agent, name string) T {
	t.Helper()
	values, err := fetch(t, a, name)
	if err != nil || len(values) != 1 {
		t.Fatalf("%s: %d values, %v", name, len(values), err)
	}
	v, err := pdu.As[T](values[pdu.NoInst])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestValues(t *testing.T) {
	runtime.GC()
	a := New(Options{CommandLine: true})
	for _, name := range []string{"go.goroutines", "go.gomaxprocs", "go.numcpu", "go.gc.heap.live_bytes", "go.gc.cycles.forced_gc_cycles",
		"go.memory.classes.total_bytes", "go.sched.gomaxprocs_threads", "go.gc.heap.allocs_by_size_bytes.count"} {
		if v := one[uint64](t, a, name); v == 0 || v > 1<<50 {
			t.Errorf("%s is %d", name, v)
		}
	}
	if v := one[float64](t, a, "go.cpu.classes.total_cpu_seconds"); v <= 0 {
		t.Errorf("CPU time %g", v)
	}
	for name, want := range map[string]string{
		"go.build.goversion": runtime.Version(), "go.build.os": runtime.GOOS, "go.build.arch": runtime.GOARCH,
		"go.process.cmdline": strings.Join(os.Args, " "),
	} {
		if got := one[string](t, a, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := one[uint32](t, a, "go.process.pid"); got != uint32(os.Getpid()) {
		t.Errorf("pid %d, want %d", got, os.Getpid())
	}
	settings, err := fetch(t, a, "go.build.setting")
	if err != nil || len(settings) == 0 {
		t.Errorf("settings of the build: %v, %v", settings, err)
	}
}

// TestCommandLine checks that clients see the command line only with Options.CommandLine.
func TestCommandLine(t *testing.T) {
	if _, err := New(Options{}).Namespace().Lookup("go.process.cmdline"); !errors.Is(err, pdu.ErrName) {
		t.Errorf("the command line is exported by default: %v", err)
	}
}

func TestOptions(t *testing.T) {
	a := New(Options{Domain: 400, Prefix: "shop.go"})
	if got, want := a.Info(), (pmda.Info{Name: "shop_go", Domain: 400}); got != want {
		t.Errorf("Info: %v, want %v", got, want)
	}
	for name, id := range a.Namespace().All() {
		if !strings.HasPrefix(name, "shop.go.") || id.Domain() != 400 {
			t.Errorf("%s has the PMID %v", name, id)
		}
	}
	for _, bad := range []Options{{Prefix: "7"}, {Prefix: "a..b"}, {Domain: 511}, {Domain: -1}} {
		if err := New(bad).Err(); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestKnown checks that all metrics of this Go are in the table. Add missing ones at its end.
func TestKnown(t *testing.T) {
	for _, d := range metrics.All() {
		if !strings.HasPrefix(d.Name, goruntime.GodebugNames) && !slices.Contains(known, d.Name) {
			t.Errorf("not in known: %s", d.Name)
		}
	}
	seen := map[string]bool{}
	for _, name := range known {
		if seen[name] {
			t.Errorf("twice in known: %s", name)
		}
		seen[name] = true
	}
	if len(known) > pdu.MaxItem+1 || len(known) > serialOfNew-serialOfKnown {
		t.Errorf("%d names are too many", len(known))
	}
}

// TestPMIDs checks that PMIDs never change, because archives contain them.
func TestPMIDs(t *testing.T) {
	names := New(Options{}).Namespace()
	for name, want := range map[string]string{
		"go.cgo.go_to_c_calls_calls":              "490.0.0",
		"go.gc.heap.allocs_bytes":                 "490.0.22",
		"go.gc.heap.allocs_by_size_bytes.buckets": "490.1.21",
		"go.sched.latencies_seconds.buckets":      "490.1.59",
		"go.sched.latencies_seconds.count":        "490.2.59",
		"go.sched.latencies_seconds.quantiles":    "490.3.59",
		"go.sched.latencies_seconds.recent":       "490.4.59",
		"go.sync.mutex.wait.total_seconds":        "490.0.65",
		"go.godebug.non_default_behavior":         "490.10.0",
		"go.goroutines":                           "490.11.0",
		"go.build.goversion":                      "490.12.0",
		"go.build.setting":                        "490.12.100",
		"go.process.pid":                          "490.13.0",
	} {
		if id, err := names.Lookup(name); err != nil || id.String() != want {
			t.Errorf("%s has the PMID %v (%v), want %s", name, id, err, want)
		}
	}
}

func TestDescs(t *testing.T) {
	a := New(Options{})
	for name, want := range map[string]pdu.Desc{
		"go.gc.heap.allocs_bytes":                  {Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.SpaceByte, InDom: pdu.NoInDom},
		"go.gc.heap.allocs_objects":                {Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: pdu.NoInDom},
		"go.gc.heap.live_bytes":                    {Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.SpaceByte, InDom: pdu.NoInDom},
		"go.gc.gogc_percent":                       {Type: pdu.TypeU64, Sem: pdu.SemInstant, InDom: pdu.NoInDom},
		"go.cpu.classes.user_cpu_seconds":          {Type: pdu.TypeDouble, Sem: pdu.SemCounter, Units: pdu.TimeSec, InDom: pdu.NoInDom},
		"go.sched.latencies_seconds.buckets":       {Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: pdu.MakeInDom(490, 1024+59)},
		"go.sched.latencies_seconds.recent":        {Type: pdu.TypeDouble, Sem: pdu.SemInstant, Units: pdu.TimeUSec, InDom: pdu.MakeInDom(490, 1)},
		"go.gc.heap.frees_by_size_bytes.quantiles": {Type: pdu.TypeDouble, Sem: pdu.SemInstant, Units: pdu.SpaceByte, InDom: pdu.MakeInDom(490, 1)},
	} {
		id, err := a.Namespace().Lookup(name)
		if err != nil {
			t.Error(err)
			continue
		}
		want.PMID = id
		if got, err := a.Desc(t.Context(), request(), id); err != nil || got != want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, want)
		}
	}
	const name = "go.gc.heap.allocs_by_size_bytes.count"
	id, _ := a.Namespace().Lookup(name)
	line, _ := a.Text(t.Context(), request(), pdu.TextOfMetric(id), pdu.TextOneLine)
	help, _ := a.Text(t.Context(), request(), pdu.TextOfMetric(id), pdu.TextHelp)
	if line != "Distribution of heap allocations by approximate size: count of all" || !strings.HasPrefix(help, "Distribution of heap allocations by approximate size. ") {
		t.Errorf("%s: %q, %q", name, line, help)
	}
}

func TestNames(t *testing.T) {
	a := &agent{prefix: "go"}
	for name, want := range map[string]string{
		"/gc/heap/allocs:bytes":           "go.gc.heap.allocs_bytes",
		"/gc/heap/allocs-by-size:bytes":   "go.gc.heap.allocs_by_size_bytes",
		"/sched/goroutines:goroutines":    "go.sched.goroutines_goroutines",
		"/new/2nd//x.y:bytes*cpu-seconds": "go.new.x2nd.x.x_y_bytes_cpu_seconds",
		"/none":                           "go.none_",
		"/gc/größe:bytes":                 "go.gc.gr__e_bytes",
	} {
		if got := a.name(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]pdu.Units{
		"/a:bytes": pdu.SpaceByte, "/a:cpu-seconds": pdu.TimeSec, "/a:percent": pdu.NoUnits, "/a:yaks": pdu.UnitCount,
		"/a:bytes/second": pdu.NoUnits, "/a": pdu.NoUnits,
	} {
		if got := goruntime.Units(name); got != want {
			t.Errorf("%s has units %v, want %v", name, got, want)
		}
	}
}

// TestNewer checks a runtime with metrics that the table lacks. One of them has the same PCP name
// as a metric in the table.
func TestNewer(t *testing.T) {
	all := append(metrics.All(),
		metrics.Description{Name: "/a/new:yaks", Description: "Yaks. Shaved ones.", Kind: metrics.KindUint64, Cumulative: true},
		metrics.Description{Name: "/a/new-histogram:seconds", Description: "Waits.", Kind: metrics.KindFloat64Histogram},
		metrics.Description{Name: "/a/odd:yaks", Kind: 77},
		metrics.Description{Name: "/gc-heap/x:bytes", Kind: metrics.KindUint64},
		metrics.Description{Name: "/gc_heap/x:bytes", Kind: metrics.KindUint64},              // the same name
		metrics.Description{Name: "/gc/heap/allocs_bytes/x:bytes", Kind: metrics.KindUint64}, // below a metric
		metrics.Description{Name: goruntime.GodebugNames + "something:events", Kind: metrics.KindUint64},
	)
	var log strings.Builder
	a := newAgent(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, all, time.Now)
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"go.a.new_yaks": "490.5.0", "go.a.new_histogram_seconds.buckets": "490.6.1", "go.a.new_histogram_seconds.recent": "490.9.1", "go.gc_heap.x_bytes": "490.5.3",
	} {
		id, err := a.Namespace().Lookup(name)
		if err != nil || id.String() != want {
			t.Errorf("%s has the PMID %v (%v), want %s", name, id, err, want)
		}
		if v, err := fetch(t, a.Agent, name); len(v) != 0 || err != nil {
			t.Errorf("%s: %v, %v of a runtime that does not know it", name, v, err)
		}
	}
	if _, err := fetch(t, a.Agent, "go.godebug.non_default_behavior"); err != nil {
		t.Error(err)
	}
	if _, err := a.Namespace().Lookup("go.a.odd_yaks"); err == nil {
		t.Error("a metric of an unknown kind is exported")
	}
	for _, left := range []string{"/a/odd:yaks", "/gc_heap/x:bytes", "/gc/heap/allocs_bytes/x:bytes"} {
		if !strings.Contains(log.String(), "name="+left+" ") {
			t.Errorf("nothing is said of %s, which is left out: %s", left, log.String())
		}
	}
	pmdatest.Run(t, a, pmdatest.Changing())
}

// TestSettingIDs checks that settings have the same IDs in all releases.
func TestSettingIDs(t *testing.T) {
	taken := map[pdu.InstID]bool{}
	got := []pdu.InstID{settingID("http2server", taken), settingID("panicnil", taken), settingID("http2server", taken)}
	if diff := cmp.Diff([]pdu.InstID{got[0], got[1], got[0] + 1}, got); diff != "" || got[0] == got[1] {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0] != 2067898593 {
		t.Errorf("http2server has the ID %d", got[0])
	}
}

// TestTurn checks that a fetch that waits for the lock can be cancelled.
func TestTurn(t *testing.T) {
	a := newAgent(Options{}, metrics.All(), time.Now)
	if !a.turn.TryLock() {
		t.Fatal("a request runs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var w pdu.ResultWriter
	if err := a.Fetch(ctx, request(), []pdu.PMID{pdu.MakePMID(490, 0, 0)}, &w); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch: %v", err)
	}
	if _, err := a.Instances(ctx, request(), pdu.MakeInDom(490, serialOfKnown+59), pdu.NoInst, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Instances: %v", err)
	}
}

// TestFetchAllocs checks the allocations of the fetches that BenchmarkFetch measures.
func TestFetchAllocs(t *testing.T) {
	for _, l := range loads {
		t.Run(l.name, func(t *testing.T) {
			a := New(Options{})
			ids := idsOf(t, a, l.want)
			var w pdu.ResultWriter
			r, ctx := request(), t.Context()
			runtime.GC()
			n := math.Inf(1)
			for range 5 { // a bucket that is no longer empty adds an instance
				n = min(n, testing.AllocsPerRun(100, func() {
					w.Reset()
					if err := a.Fetch(ctx, r, ids, &w); err != nil {
						t.Fatal(err)
					}
				}))
			}
			if n > l.allocs && !raceEnabled {
				t.Errorf("%v allocations per fetch, want at most %v", n, l.allocs)
			}
		})
	}
}
