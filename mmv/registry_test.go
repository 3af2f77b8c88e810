package mmv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

var long = strings.Repeat("long.", 60)

// registrationErrors are invalid registrations, with the text of the error.
var registrationErrors = []struct {
	name, want string
	set        func(r *mmv.Registry) // sets fields of the Registry; may be nil
	register   func(r *mmv.Registry)
}{
	{name: "duplicate", want: `metric "c": already registered at `, register: counters("c", "c")},
	{name: "group", want: `registered at FILE is "a.b", whose name begins with this one and a dot`, register: counters("a.b", "a")},
	{name: "below", want: `"a" is a metric, registered at `, register: counters("a", "a.b.c")},
	{name: "empty name", want: `metric "": a name is components`, register: counters("")},
	{name: "dash", want: `metric "a-b": a name is components`, register: counters("a-b")},
	{name: "digit", want: "each beginning with a letter", register: counters("a.1")},
	{name: "dots", want: "each beginning with a letter", register: counters("a..b")},
	{name: "long name", want: "the name has 256 bytes, limit 255", register: counters(long[:254] + "xy")},
	{name: "long for version 1", want: "the name has 64 bytes, limit 63", set: func(r *mmv.Registry) { r.Version = 1 },
		register: counters(long[:64])},
	{name: "control", want: "agents have metrics mmv.control.reload", set: func(r *mmv.Registry) { r.NoPrefix = true },
		register: counters("control.files")},
	{name: "type", want: "type STRING is not one that this handle can have", register: func(r *mmv.Registry) {
		r.Counter("c", mmv.Metric{Type: new(pdu.TypeString)}).Inc()
	}},
	{name: "aggregate", want: "is not one that this handle can have", register: func(r *mmv.Registry) {
		r.Gauge("c", mmv.Metric{Type: new(pdu.Type(7))}).Inc()
	}},
	{name: "semantics", want: "semantics 2 do not exist", register: func(r *mmv.Registry) { r.Text("t", mmv.Metric{Sem: 2}).Set("x") }},
	{name: "item", want: "item 1024 is out of range (1..1023)", register: func(r *mmv.Registry) { r.Timer("t", mmv.Metric{Item: 1024}) }},
	{name: "same item", want: `item 5 is that of "a", registered at `, register: func(r *mmv.Registry) {
		r.Gauge("a", mmv.Metric{Item: 5})
		r.Gauge("b", mmv.Metric{Item: 5}).Set(1)
	}},
	{name: "help", want: "Help has 256 bytes, limit 255", register: func(r *mmv.Registry) { r.Gauge("a", mmv.Metric{Help: long[:256]}) }},
	{name: "many", want: "there are 1023 metrics, which is the limit", register: func(r *mmv.Registry) {
		for i := range 1024 {
			r.Counter(fmt.Sprint("c", i), mmv.Metric{}).Inc()
		}
	}},
	{name: "domain", want: `instance domain "d": already registered at `, register: func(r *mmv.Registry) {
		r.InDom("d", mmv.Domain{})
		r.InDom("d", mmv.Domain{}).Counter("c", mmv.Metric{}).With("x").Inc()
	}},
	{name: "serial", want: "serial 2048 is out of range (1..2047)", register: func(r *mmv.Registry) { r.InDom("d", mmv.Domain{Serial: 2048}) }},
	{name: "instance", want: `"GET", all up to the first space, by which tools find an instance, is also that of "GET /a"`,
		register: instances("GET /a", "GET /b")},
	{name: "empty instance", want: "a name must not be empty", register: instances("")},
	{name: "control character", want: "must not have control characters", register: instances("a\nb")},
	{name: "long instance", want: "the name has 256 bytes, limit 255", register: instances(long[:256])},
	{name: "instance number", want: `the number 3 is that of "a"`, register: func(r *mmv.Registry) {
		r.InDom("d", mmv.Domain{}).Add(mmv.Instance{Name: "a", ID: new(pdu.InstID(3))}, mmv.Instance{Name: "b", ID: new(pdu.InstID(3))})
	}},
	{name: "negative instance number", want: `instance "a" of "d": the number -1 is negative`, register: func(r *mmv.Registry) {
		r.InDom("d", mmv.Domain{}).Add(mmv.Instance{Name: "a", ID: new(pdu.InstID(-1))})
	}},
	{name: "another instance number", want: `instance "a" of "d" has the number 3, not 0`, register: func(r *mmv.Registry) {
		r.InDom("d", mmv.Domain{}).Add(mmv.Instance{Name: "a", ID: new(pdu.InstID(3))}, mmv.Instance{Name: "a", ID: new(pdu.InstID(0))})
	}},
	{name: "label name", want: `label "a b": a name is a letter`, set: func(r *mmv.Registry) { r.Labels = mmv.Labels{"a b": 1} }, register: counters("c")},
	{name: "label value", want: `label "f": json: unsupported type`, register: func(r *mmv.Registry) {
		r.Gauge("a", mmv.Metric{Labels: mmv.Labels{"f": func() {}}})
	}},
	{name: "long label", want: "bytes as JSON, limit 243", register: func(r *mmv.Registry) { r.AddLabels(mmv.Labels{"a": long}) }},
	{name: "labels in version 2", want: "labels need version 3", set: func(r *mmv.Registry) { r.Version = 2 },
		register: func(r *mmv.Registry) { r.AddLabels(mmv.Labels{"a": 1}) }},
	{name: "buckets", want: `histogram "h": bound 1: bounds must ascend`, register: func(r *mmv.Registry) {
		r.Histogram("h", mmv.Metric{}, []float64{1, 1}).Observe(2)
	}},
	{name: "quantile", want: "quantile 99 is not between 0 and 1", register: func(r *mmv.Registry) {
		r.Histogram("h", mmv.Metric{}, []float64{1, 2}, 99).Observe(2)
	}},
	{name: "cluster", want: "Registry.Cluster 2048: out of range", set: func(r *mmv.Registry) { r.Cluster = 2048 }, register: counters("c")},
}

// TestErrors: what agents would drop without a word is an error that says what and where, and its
// handle counts.
func TestErrors(t *testing.T) {
	for _, test := range registrationErrors {
		t.Run(test.name, func(t *testing.T) {
			r := &mmv.Registry{Name: "app"}
			if test.set != nil {
				test.set(r)
			}
			test.register(r)
			_, file, _, _ := runtime.Caller(0)
			err := r.Publish(t.TempDir())
			defer r.Close()
			if err == nil {
				t.Fatal("no error")
			}
			text := strings.ReplaceAll(err.Error(), file, "FILE")
			want, _, _ := strings.Cut(test.want, "FILE")
			if !strings.Contains(text, want) || !strings.HasPrefix(text, "mmv: FILE:") {
				t.Errorf("error %q, want %q", text, test.want)
			}
			if f, err := mmv.Read(r.Source()); err != nil || len(f.Problems) > 0 {
				t.Errorf("the file is bad: %v %v", err, f.Problems)
			}
		})
	}
}

// TestErrorsOfOneCall: each error of one registration is a separate line that names the place of
// the call.
func TestErrorsOfOneCall(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	_, file, line, _ := runtime.Caller(0)
	r.Gauge("a-b", mmv.Metric{Item: 5000, Text: "a\x00"})
	r.AddLabels(mmv.Labels{"a b": 1, "c d": 2})
	r.InDom("d", mmv.Domain{Serial: 5000, Help: "a\x00"})
	at := func(n int, what string) string { return fmt.Sprintf("mmv: %s:%d: %s", file, line+n, what) }
	want := []string{
		at(1, `metric "a-b": a name is`), at(1, `metric "a-b": item 5000`), at(1, `metric "a-b": Text has a NUL`),
		at(2, `Registry: label "a b"`), at(2, `Registry: label "c d"`),
		at(3, `instance domain "d": serial 5000`), at(3, `instance domain "d": Help has a NUL`),
	}
	got := strings.Split(fmt.Sprint(r.Err()), "\n")
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%q, want %q", got, want)
	}
}

// counters registers counters, whose handles all count.
func counters(names ...string) func(r *mmv.Registry) {
	return func(r *mmv.Registry) {
		for _, name := range names {
			c := r.Counter(name, mmv.Metric{})
			if c.Inc(); c.Value() != 1 {
				panic("a handle does not count")
			}
		}
	}
}

// instances makes counters of instances, which all count.
func instances(names ...string) func(r *mmv.Registry) {
	return func(r *mmv.Registry) {
		v := r.InDom("d", mmv.Domain{}).Counter("c", mmv.Metric{})
		for _, name := range names {
			v.With(name).Inc()
			if v.With(name).Value() != 1 {
				panic("a handle does not count")
			}
		}
	}
}

func TestBadRegistryName(t *testing.T) {
	r := &mmv.Registry{Name: "has-dash"}
	r.Counter("c", mmv.Metric{}).Inc()
	if err := r.Publish(t.TempDir()); err == nil || !strings.Contains(err.Error(), `Registry.Name "has-dash"`) {
		t.Errorf("%v", err)
	}
}

// TestDashWithoutPrefix: a file whose name is not in the metrics' names may have a dash.
func TestDashWithoutPrefix(t *testing.T) {
	r := &mmv.Registry{Name: "has-dash", NoPrefix: true}
	r.Counter("c", mmv.Metric{}).Inc()
	dir := t.TempDir()
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := mmv.Open(filepath.Join(dir, "has-dash"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Metrics) != 1 || f.Metrics[0].Name != "c" {
		t.Errorf("metrics %+v", f.Metrics)
	}
}

// TestNumbersAreStable: items, serials and instance numbers stay when other names come before.
func TestNumbersAreStable(t *testing.T) {
	read := func(more bool) *mmv.File {
		r := &mmv.Registry{Name: "app"}
		if more {
			r.InDom("first", mmv.Domain{}).Gauge("first", mmv.Metric{}).With("zero")
		}
		v := r.InDom("d", mmv.Domain{}).Gauge("g", mmv.Metric{})
		if more {
			v.With("a")
		}
		v.With("b")
		f, err := mmv.Read(r.Source())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := read(false), read(true)
	if a.Cluster != b.Cluster || a.Metrics[0].Item != b.Metrics[1].Item || a.InDoms[0].Serial != b.InDoms[1].Serial {
		t.Errorf("%+v\n%+v", a, b)
	}
	if x, y := a.InDoms[0].Instances[0], b.InDoms[1].Instances[1]; x != y {
		t.Errorf("instance %v, with more %v", x, y)
	}
}

// TestInstanceNumbers: those without a number get that of With, 0 is a number like others.
func TestInstanceNumbers(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	d := r.InDom("d", mmv.Domain{})
	d.Add(mmv.Instance{Name: "a", Labels: mmv.Labels{"l": 1}}, mmv.Instance{Name: "b", Labels: mmv.Labels{"l": 2}})
	d.Add(mmv.Instance{Name: "zero", ID: new(pdu.InstID(0))}, mmv.Instance{Name: "zero"}) // no other number
	other := r.InDom("other", mmv.Domain{}).Gauge("g", mmv.Metric{})
	other.With("a")
	f, err := mmv.Read(r.Source())
	if err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	in := f.InDoms[0].Instances
	if len(in) != 3 || in[0].ID == in[1].ID || in[0].ID != f.InDoms[1].Instances[0].ID || in[2].ID != 0 {
		t.Errorf("%+v, with With %+v", in, f.InDoms[1].Instances)
	}
}

// TestNames: a name is accepted if and only if it has the form that the name space takes.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9_.\-é]{0,8}`).Draw(t, "name")
		want := name != ""
		for part := range strings.SplitSeq(name, ".") {
			want = want && part != "" && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(part[0])) &&
				!strings.ContainsAny(part, "-é")
		}
		r := &mmv.Registry{Name: "app"}
		r.Counter(name, mmv.Metric{})
		f, err := mmv.Read(r.Source())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Err() == nil; got != want || len(f.Metrics) == 1 != want {
			t.Errorf("%q: accepted %v, %d metrics", name, got, len(f.Metrics))
		}
	})
}

// TestLabels: labels are read back unchanged, or are an error.
func TestLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOfN(rapid.Float64(), 0, 30).AsAny()).Draw(t, "value")
		name := rapid.StringMatching(`[a-z][a-z0-9_]{0,100}`).Draw(t, "name")
		r := &mmv.Registry{Name: "app", Labels: mmv.Labels{name: value}}
		f, err := mmv.Read(r.Source())
		if err != nil {
			t.Fatal(err)
		}
		if r.Err() != nil {
			if len(f.Labels) != 0 {
				t.Errorf("%v, but a label", r.Err())
			}
			return
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(f.Labels[0].JSON), &got); err != nil {
			t.Fatalf("%q: %v", f.Labels[0].JSON, err)
		}
		want, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(got[name]); err != nil || string(b) != string(want) {
			var x any
			if json.Unmarshal(want, &x); fmt.Sprint(x) != fmt.Sprint(got[name]) {
				t.Errorf("%s, want %s", b, want)
			}
		}
	})
}

// TestTimer: what a reader sees of spans that overlap.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &mmv.Registry{Name: "app"}
		timer := r.Timer("t", mmv.Metric{})
		var reader mmv.Reader
		expect := func(file, handle time.Duration) {
			t.Helper()
			f, err := mmv.Read(r.Source())
			if err != nil {
				t.Fatal(err)
			}
			reader.Reset(f, time.Now())
			v, err := reader.Value(&f.Metrics[0], 0)
			if n, err2 := pdu.As[int64](v); err != nil || err2 != nil || time.Duration(n)*time.Microsecond != file {
				t.Errorf("file: %v %v, want %v", time.Duration(n)*time.Microsecond, err, file)
			}
			if got := timer.Value(); got != handle {
				t.Errorf("handle: %v, want %v", got, handle)
			}
		}
		a := timer.Start()
		time.Sleep(time.Second)
		expect(1*time.Second, 1*time.Second)
		b := timer.Start()
		time.Sleep(time.Second)
		expect(2*time.Second, 3*time.Second) // exact when the next span starts or stops
		if d := a.Stop(); d != 2*time.Second {
			t.Errorf("Stop returns %v", d)
		}
		expect(3*time.Second, 3*time.Second)
		time.Sleep(time.Second)
		expect(4*time.Second, 4*time.Second)
		r.AddLabels(mmv.Labels{"moved": true}) // another image
		expect(4*time.Second, 4*time.Second)
		b.Stop()
		mmv.Span{}.Stop()
		time.Sleep(time.Second)
		expect(4*time.Second, 4*time.Second)
		timer.Add(500 * time.Millisecond)
		timer.Add(-time.Hour)
		expect(4500*time.Millisecond, 4500*time.Millisecond)
	})
}

func TestHistogram(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	h := r.Histogram("h", mmv.Metric{}, []float64{1, 2, 4})
	if h.Quantile(0.5) != 0 {
		t.Error("a quantile without observations")
	}
	for i := range 100 {
		h.Observe(float64(i%4) + 0.5)
	}
	h.Observe(math.NaN())
	h.Observe(math.Inf(1))
	if h.Count() != 101 || !math.IsInf(h.Sum(), 1) {
		t.Errorf("count %d, sum %v", h.Count(), h.Sum())
	}
	for q, want := range map[float64]float64{0: 0, 0.25: 1.01, 0.5: 2.02, 1: 4, 0.99: 3.9996, -1: 0, 2: 4} {
		if got := h.Quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// TestLeftOut: only the invalid parts are left out.
func TestLeftOut(t *testing.T) {
	r := &mmv.Registry{Name: "app", Logger: slog.New(slog.DiscardHandler)}
	r.Counter("labels", mmv.Metric{Labels: mmv.Labels{"a b": 1, "good": 2}})
	r.Counter("text", mmv.Metric{Text: long, Help: "a\x00b"})
	r.Counter("bad.item", mmv.Metric{Item: -1})
	r.Histogram("h", mmv.Metric{}, []float64{2, 1}).Observe(1)
	d := r.InDom("d", mmv.Domain{})
	v := d.Counter("v", mmv.Metric{})
	v.With("a").Inc()
	v.With("").Inc()
	r.InDom("d", mmv.Domain{}).Counter("bad.domain", mmv.Metric{}).With("a").Inc()
	f, err := mmv.Read(r.Source())
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Metrics {
		for _, v := range m.Values {
			got = append(got, strings.TrimSpace(m.Metric.Name+" "+v.Instance.Name))
		}
	}
	slices.Sort(got)
	want := []string{"h.bucket ..1", "h.bucket 1..", "h.count", "h.sum", "labels", "text", "v a"}
	if !slices.Equal(got, want) || len(f.Labels) != 1 {
		t.Errorf("%q and labels %v, want %q and one label", got, f.Labels, want)
	}
}

// TestRuntimeBadPrefix: an invalid prefix is one error, not one for each metric.
func TestRuntimeBadPrefix(t *testing.T) {
	for _, prefix := range []string{"", "my-go", "go."} {
		r := &mmv.Registry{Name: "app"}
		r.AddRuntime(prefix)
		want := fmt.Sprintf("metrics of the Go runtime below %q: a name is components", prefix)
		if err := fmt.Sprint(r.Err()); !strings.Contains(err, want) || strings.Contains(err, "\n") {
			t.Errorf("%s, want %s", err, want)
		}
	}
}

// TestRuntimeTwice: a second call of AddRuntime is one error, which names both places.
func TestRuntimeTwice(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	_, file, line, _ := runtime.Caller(0)
	r.AddRuntime("go")
	r.AddRuntime("other.go")
	r.AddRuntime("go")
	want := fmt.Sprintf("mmv: %s:%d: metrics of the Go runtime below \"go\": already registered at %s:%d", file, line+3, file, line+1)
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	f, err := mmv.Read(r.Source())
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go", "other.go"} {
		if got, ok := s.Lookup(name+".sched.gomaxprocs_threads", ""); !ok || got.String() != fmt.Sprint(runtime.GOMAXPROCS(0)) {
			t.Errorf("%s: GOMAXPROCS is %v, %v", name, got, ok)
		}
	}
}

// TestObserveDuration: times are in the units of the metric, those without time in seconds.
func TestObserveDuration(t *testing.T) {
	for u, want := range map[pdu.Units]float64{
		pdu.TimeNSec: 5.4e12, pdu.TimeUSec: 5.4e9, pdu.TimeMSec: 5.4e6, pdu.TimeSec: 5400, pdu.TimeMin: 90, pdu.TimeHour: 1.5,
		pdu.NoUnits: 5400, pdu.UnitCount: 5400,
	} {
		r := &mmv.Registry{Name: "app"}
		h := r.Histogram("h", mmv.Metric{Units: u}, []float64{1})
		v := r.InDom("d", mmv.Domain{}).Histogram("v", mmv.Metric{Units: u}, []float64{1}).With("x")
		h.ObserveDuration(90 * time.Minute)
		v.ObserveDuration(90 * time.Minute)
		if h.Sum() != want || v.Sum() != want || h.Count() != 1 {
			t.Errorf("%v: %v and %v, want %v", u, h.Sum(), v.Sum(), want)
		}
	}
	new(mmv.Histogram).ObserveDuration(time.Second) // is of no metric
}

// TestFloatCounterIgnores: what would make a counter go back is ignored.
func TestFloatCounterIgnores(t *testing.T) {
	c := (&mmv.Registry{Name: "app"}).FloatCounter("c", mmv.Metric{})
	c.Add(2.5)
	c.Add(-1)
	c.Add(math.NaN())
	c.Add(math.Inf(-1))
	c.Inc()
	if got := c.Value(); got != 3.5 {
		t.Errorf("%v, want 3.5", got)
	}
}

// TestOnRead: functions are called before values are read.
func TestOnRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &mmv.Registry{Name: "app"}
		g := r.Gauge("g", mmv.Metric{})
		calls := int64(0)
		r.OnRead(func() { calls++; g.Set(calls) })
		r.Source()
		if g.Value() != 1 {
			t.Errorf("after Source: %d", g.Value())
		}
		dir := t.TempDir()
		if err := r.Publish(dir); errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10500 * time.Millisecond)
		if got := readGauge(t, filepath.Join(dir, "app")); got != "12" {
			t.Errorf("after ten seconds: %s", got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if g.Value() != 12 {
			t.Errorf("after Close: %d", g.Value())
		}
	})
}

func readGauge(t *testing.T, path string) string {
	t.Helper()
	f, err := mmv.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := f.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s.Metrics[0].Values[0].Value.String()
}

// TestInstances: instances come and go, found without a lock by many goroutines.
func TestInstances(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	d := r.InDom("d", mmv.Domain{})
	v := d.Counter("v", mmv.Metric{})
	kept := v.With("kept")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				v.With(fmt.Sprint("instance-", i%100)).Inc()
				kept.Inc()
			}
		})
	}
	wg.Go(func() {
		for i := range 500 {
			d.Remove(fmt.Sprint("instance-", i%100))
		}
	})
	wg.Wait()
	if kept != v.With("kept") || kept.Value() != 8000 {
		t.Errorf("kept: %d", kept.Value())
	}
	old := v.With("instance-1")
	d.Remove("instance-1", "kept", "unknown")
	if old.Add(5); v.With("instance-1").Value() != 0 || old.Value() < 5 {
		t.Errorf("removed: %d, new: %d", old.Value(), v.With("instance-1").Value())
	}
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := &mmv.Registry{Name: "app"}
	c, g, f := r.Counter("c", mmv.Metric{}), r.Gauge("g", mmv.Metric{}), r.FloatGauge("f", mmv.Metric{})
	timer, text := r.Timer("t", mmv.Metric{}), r.Text("s", mmv.Metric{})
	h := r.Histogram("h", mmv.Metric{}, mmv.ExponentialBuckets(1, 2, 20))
	v := r.InDom("d", mmv.Domain{}).Counter("v", mmv.Metric{})
	for i := range 1000 {
		v.With(fmt.Sprint(i))
	}
	if n := testing.AllocsPerRun(100, func() {
		c.Inc()
		g.Add(2)
		f.Set(1)
		f.Add(2)
		timer.Start().Stop()
		text.Set("text")
		h.Observe(3)
		h.ObserveDuration(time.Second)
		v.With("7").Inc()
		r.Source()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSourceReadAt: ReadAt reads any part of the memory, and returns io.EOF at its end.
func TestSourceReadAt(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	r.Text("t", mmv.Metric{Text: "0123456789abcdef"}).Set("hello")
	src := r.Source()
	whole := make([]byte, src.Size())
	if n, err := src.ReadAt(whole, 0); n != len(whole) || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.IntRange(0, len(whole)+20).Draw(t, "off")
		p := make([]byte, rapid.IntRange(0, 50).Draw(t, "n"))
		n, err := src.ReadAt(p, int64(off))
		want := whole[min(off, len(whole)):min(off+len(p), len(whole))]
		if string(p[:n]) != string(want) || (err == io.EOF) != (n < len(p)) {
			t.Errorf("%q, %v, want %q", p[:n], err, want)
		}
	})
	if _, err := src.ReadAt(whole, -1); err == nil {
		t.Error("no error for a negative offset")
	}
}

// TestAddLabels: a label that is added again is replaced.
func TestAddLabels(t *testing.T) {
	r := &mmv.Registry{Name: "app"}
	r.Counter("c", mmv.Metric{Labels: mmv.Labels{"a": "metric"}})
	for i := range 1000 {
		r.AddLabels(mmv.Labels{"a": i, "b": true})
	}
	f, err := mmv.Read(r.Source())
	if err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	var got []string
	for _, l := range f.Labels {
		got = append(got, l.JSON)
	}
	if want := []string{`{"a":"metric"}`, `{"a":999}`, `{"b":true}`}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
