package pmapi_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

const recordedArchive = "../archive/testdata/v3"

func openRecorded(t testing.TB) *pmapi.Context {
	t.Helper()
	c, err := pmapi.Open(t.Context(), recordedArchive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// archiveValues returns the values of fetches in steps up to the end, NaN for a missing one.
func archiveValues(t *testing.T, c *pmapi.Context, id pdu.PMID, inst pdu.InstID, mode pmapi.Mode, origin time.Time, step time.Duration) []float64 {
	t.Helper()
	if err := c.SetMode(t.Context(), mode, origin, step); err != nil {
		t.Fatal(err)
	}
	var list []float64
	for r := new(pdu.Result); ; {
		err := c.Fetch(t.Context(), []pdu.PMID{id}, r)
		if errors.Is(err, pdu.ErrEOL) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		v := math.NaN()
		for i, a := range r.At(0).All(pdu.TypeU32) {
			if i == inst {
				v, _ = pdu.As[float64](a)
			}
		}
		list = append(list, v)
	}
}

func TestArchiveInterpolation(t *testing.T) {
	none := math.NaN()
	end := archiveStart.Add(30 * time.Second)
	for _, test := range []struct {
		name   string
		opts   pmapi.ArchiveOptions
		id     pdu.PMID
		inst   pdu.InstID
		mode   pmapi.Mode
		origin time.Time
		step   time.Duration
		want   []float64
	}{
		{name: "counter", id: countID, inst: -1, mode: pmapi.ModeInterp, step: 2500 * time.Millisecond,
			want: []float64{100, 125, 150, 175, 200, 188, 176, 163, 151, none, none, none, 1000}},
		{name: "counter back", id: countID, inst: -1, mode: pmapi.ModeInterp, origin: end, step: -2500 * time.Millisecond,
			want: []float64{1000, none, none, none, 151, 163, 176, 188, 200, 175, 150, 125, 100}},
		{name: "counter across the mark", id: countID, inst: -1, mode: pmapi.ModeInterp, step: 10 * time.Second, want: []float64{100, 200, 151, none}},
		{name: "counter wraps", opts: pmapi.ArchiveOptions{CounterWrap: true}, id: countID, inst: -1, mode: pmapi.ModeInterp, origin: archiveStart.Add(12500 * time.Millisecond),
			step: time.Hour, want: []float64{1073742012}},
		{name: "marks ignored", opts: pmapi.ArchiveOptions{IgnoreMarks: math.MaxInt64}, id: countID, inst: -1, mode: pmapi.ModeInterp, origin: archiveStart.Add(25 * time.Second),
			step: time.Hour, want: []float64{576}},
		{name: "marks of short gaps ignored", opts: pmapi.ArchiveOptions{IgnoreMarks: 10 * time.Second}, id: countID, inst: -1, mode: pmapi.ModeInterp,
			origin: archiveStart.Add(25 * time.Second), step: time.Hour, want: []float64{576}},
		{name: "marks of longer gaps", opts: pmapi.ArchiveOptions{IgnoreMarks: 9999 * time.Millisecond}, id: countID, inst: -1, mode: pmapi.ModeInterp,
			origin: archiveStart.Add(25 * time.Second), step: time.Hour, want: []float64{none}},
		{name: "discrete", id: stateID, inst: -1, mode: pmapi.ModeInterp, step: 2500 * time.Millisecond,
			want: []float64{100, 100, 100, 200, 200, 200, 200, 151, 151, none, none, none, 1000}},
		{name: "instant", id: loadID, inst: 1, mode: pmapi.ModeInterp, step: 7500 * time.Millisecond, want: []float64{100, 200, 200, none, 1000}},
		{name: "instance that goes", id: loadID, inst: 2, mode: pmapi.ModeInterp, step: 5 * time.Second, want: []float64{-100, -100, -200, none, none, none, none}},
		{name: "forward", id: countID, inst: -1, mode: pmapi.ModeForward, origin: archiveStart.Add(time.Second), want: []float64{200, 151, 1000}},
		{name: "back", id: countID, inst: -1, mode: pmapi.ModeBack, origin: end, want: []float64{1000, 151, 200, 100}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := archiveValues(t, counters(t).open(t, test.opts), test.id, test.inst, test.mode, test.origin, test.step)
			if d := cmp.Diff(test.want, got, cmpopts.EquateNaNs()); d != "" {
				t.Errorf("values (-want +got)\n%s", d)
			}
		})
	}
}

func TestArchiveScansAgree(t *testing.T) {
	c := openRecorded(t)
	scan := func(mode pmapi.Mode, origin time.Time) (list []string) {
		if err := c.SetMode(t.Context(), mode, origin, 0); err != nil {
			t.Fatal(err)
		}
		p := &replayer{c: c}
		for {
			if a := p.answer(t.Context(), "record"); a != code(pdu.ErrEOL) {
				list = append(list, a)
				continue
			}
			return list
		}
	}
	end, err := c.ArchiveEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	on, back := scan(pmapi.ModeForward, time.Time{}), scan(pmapi.ModeBack, end)
	for i := range back[:len(back)/2] {
		j := len(back) - 1 - i
		back[i], back[j] = back[j], back[i]
	}
	if d := cmp.Diff(on, back); d != "" || len(on) == 0 {
		t.Errorf("forward and back differ (-forward +back)\n%s", d)
	}
}

// TestArchiveInterpolationProperties checks that values lie between samples and equal them at their
// times, independent of earlier fetches.
func TestArchiveInterpolationProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		samples := rapid.SliceOfN(rapid.Uint32Range(0, 1<<30), 1, 12).Draw(r, "samples")
		m := newMadeArchive()
		m.metric("made.count", pdu.Desc{PMID: countID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter})
		for i, v := range samples {
			m.record(t, time.Duration(i)*time.Second, func(w *pdu.ResultWriter) {
				w.Begin(countID)
				w.Uint32(pdu.NoInst, v)
			})
		}
		c := m.open(t, pmapi.ArchiveOptions{})
		var got pdu.Result
		last := int64(len(samples)-1) * 1000
		step := rapid.Int64Range(-3000, 3000).Draw(r, "step")
		at := rapid.Int64Range(0, last).Draw(r, "origin")
		if err := c.SetMode(t.Context(), pmapi.ModeInterp, archiveStart.Add(time.Duration(at)*time.Millisecond), time.Duration(step)*time.Millisecond); err != nil {
			r.Fatal(err)
		}
		for range 20 {
			err := c.Fetch(t.Context(), []pdu.PMID{countID}, &got)
			if at == -1 || at == last+1 { // there may be a fetch, without values or not
				at += step
				continue
			}
			if outside := at < 0 || at > last; outside != errors.Is(err, pdu.ErrEOL) || !outside && err != nil {
				r.Fatalf("at %d ms of %d: %v", at, last, err)
			}
			if err == nil {
				if got.At(0).Len() != 1 {
					r.Fatalf("no value at %d ms", at)
				}
				v, _ := pdu.As[uint32](got.At(0).Atom(0, pdu.TypeU32))
				low, high := samples[at/1000], samples[(at+999)/1000]
				if low, high := min(low, high), max(low, high); v < low || v > high {
					r.Fatalf("%d at %d ms, between samples of %d and %d", v, at, low, high)
				}
			}
			at += step
		}
	})
}

func TestArchiveMetadata(t *testing.T) {
	c := counters(t).open(t, pmapi.ArchiveOptions{})
	p := &replayer{c: c}
	for _, test := range []struct{ request, want string }{
		{"label", "3 4711 1700000000.250000000 web1 UTC"},
		{"end", "1700000030.250000000"},
		{"indom 1677721601", "2 1=one 2=two%20words"},
		{"lookup 1677721601 two", "2"},
		{"lookup 1677721601 three", "-12380"},
		{"name 1677721601 7", "-12380"},
		{"indom 1677721602", "-12379"},
		{"mode 2 1700000029 0 0 0", "0"},
		{"indom 1677721601", "1 1=one"},
		{"name 1677721601 2", "-12380"},
		{"indomall 1677721601", "2 1=one 2=two%20words"},
		{"nameall 1677721601 2", "two%20words"},
		{"lookupall 1677721601 two", "2"},
		{"indomall 4294967295", "-12359"},
		{"mode 2 1600000000 0 0 0", "0"},
		{"indom 1677721601", "-12379"},
		{"id made.count", "1 1677721601"},
		{"id made", "-12394 4294967295"},
		{"desc 5", "-12378"},
		{"text 1677721601 1", "-12369"},
		{"labels 1 4294967295", `1 -1:1:{"hostname":"web1"}`},
		{"mode 0 -1 0 0 0", "-12371"},
		{"mode 1 -1 0 0 0", "0"},
		{"record", "-12371"},
	} {
		if got := p.answer(t.Context(), test.request); got != test.want {
			t.Errorf("%s: %s, want %s", test.request, got, test.want)
		}
	}
	if name := c.HostName(t.Context()); name != "web1" {
		t.Errorf("host %q", name)
	}
	if err := c.Store(t.Context(), "made.count", 1); !errors.Is(err, pdu.ErrNotHost) {
		t.Errorf("store: %v, want %v", err, pdu.ErrNotHost)
	}
}

func TestArchiveDup(t *testing.T) {
	c := counters(t).open(t, pmapi.ArchiveOptions{})
	var r pdu.Result
	if err := c.Fetch(t.Context(), []pdu.PMID{countID}, &r); err != nil {
		t.Fatal(err)
	}
	d, err := c.Dup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Fetch(t.Context(), []pdu.PMID{countID}, &r); !errors.Is(err, pdu.ErrNoContext) {
		t.Errorf("fetch after Close: %v, want %v", err, pdu.ErrNoContext)
	}
	if err := d.Fetch(t.Context(), []pdu.PMID{countID}, &r); err != nil || !r.Time.Equal(archiveStart.Add(10*time.Second)) {
		t.Errorf("fetch of the other: %v at %v, want the second record", err, r.Time)
	}
}

func TestOpenArchiveErrors(t *testing.T) {
	for _, path := range []string{"", "testdata/nosuch"} {
		c, err := pmapi.Open(t.Context(), path)
		if err == nil {
			c.Close()
			t.Errorf("Open(%q): no error", path)
		}
	}
	if _, err := pmapi.Open(t.Context()); !errors.Is(err, pdu.ErrLogFile) {
		t.Errorf("Open(): %v, want %v", err, pdu.ErrLogFile)
	}
}

func TestArchiveGroup(t *testing.T) {
	c := counters(t).open(t, pmapi.ArchiveOptions{})
	g := c.Group()
	rate := pmapi.Add[float64](g, "made.count")
	one := pmapi.Add[float64](g, "made.load", pmapi.Instance("one"))
	type row struct {
		At        time.Duration
		Rate, One float64
	}
	var got []row
	value := func(i *pmapi.Item[float64]) float64 {
		v, err := i.Value()
		if err != nil {
			return -1
		}
		return v
	}
	for now, err := range g.Every(t.Context(), 5*time.Second) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row{now.Sub(archiveStart), value(rate), value(one)})
	}
	s := time.Second
	want := []row{{0, -1, 100}, {5 * s, 10, 100}, {10 * s, 10, 200}, {15 * s, -1, 200}, {20 * s, -1, 151}, {25 * s, -1, -1}, {30 * s, -1, 1000}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows (-want +got)\n%s", d)
	}

	// The records themselves, across the mark without a rate.
	if err := c.SetMode(t.Context(), pmapi.ModeForward, archiveStart, 0); err != nil {
		t.Fatal(err)
	}
	got = nil
	for now, err := range g.Every(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row{now.Sub(archiveStart), value(rate), value(one)})
	}
	want = []row{{0, -1, 100}, {10 * s, 10, 200}, {20 * s, -1, 151}, {30 * s, -1, 1000}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got)\n%s", d)
	}

	bad := c.Group()
	pmapi.Add[float64](bad, "made.nosuch")
	rounds := 0
	for _, err := range bad.Every(t.Context(), 0) {
		if rounds++; !errors.Is(err, pdu.ErrName) || rounds > 1 {
			t.Fatalf("round %d of a group that cannot be resolved: %v", rounds, err)
		}
	}
}

// TestArchiveTurningTime reads records that are not in the order of time: those that go against the
// mode are left out.
func TestArchiveTurningTime(t *testing.T) {
	m := newMadeArchive()
	m.metric("made.count", pdu.Desc{PMID: countID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter})
	for _, seconds := range []uint32{0, 10, 5, 20, 15, 30} {
		m.record(t, time.Duration(seconds)*time.Second, func(w *pdu.ResultWriter) {
			w.Begin(countID)
			w.Uint32(pdu.NoInst, seconds)
		})
	}
	c := m.open(t, pmapi.ArchiveOptions{})
	if d := cmp.Diff([]float64{0, 10, 20, 30}, archiveValues(t, c, countID, -1, pmapi.ModeForward, archiveStart, 0)); d != "" {
		t.Errorf("forward (-want +got)\n%s", d)
	}
	end := archiveStart.Add(30 * time.Second)
	if d := cmp.Diff([]float64{30, 15, 5, 0}, archiveValues(t, c, countID, -1, pmapi.ModeBack, end, 0)); d != "" {
		t.Errorf("back (-want +got)\n%s", d)
	}
}

func TestArchiveOptionsFromEnv(t *testing.T) {
	for _, test := range []struct {
		env  string
		want pmapi.ArchiveOptions
		bad  string
	}{
		{"", pmapi.ArchiveOptions{}, ""},
		{"PCP_COUNTER_WRAP=", pmapi.ArchiveOptions{CounterWrap: true}, ""},
		{"PCP_INTERP_PRIOR=1", pmapi.ArchiveOptions{PriorValues: true}, ""},
		{"PCP_IGNORE_MARK_RECORDS=", pmapi.ArchiveOptions{IgnoreMarks: math.MaxInt64}, ""},
		{"PCP_IGNORE_MARK_RECORDS=0", pmapi.ArchiveOptions{IgnoreMarks: math.MaxInt64}, ""},
		{"PCP_IGNORE_MARK_RECORDS=1min 30sec", pmapi.ArchiveOptions{IgnoreMarks: 90 * time.Second}, ""},
		{"PCP_IGNORE_MARK_RECORDS=x", pmapi.ArchiveOptions{},
			`bad $PCP_IGNORE_MARK_RECORDS: bad interval "x": unexpected value at "x"`},
	} {
		t.Run(test.env, func(t *testing.T) {
			clearEnv(t)
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			}
			got, err := pmapi.ArchiveOptionsFromEnv()
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if text := fmt.Sprint(err); err != nil && text != test.bad || err == nil && test.bad != "" {
				t.Errorf("error %q, want %q", text, test.bad)
			}
		})
	}
}

// TestArchiveTrimNames opens an archive with names of metrics that it does not have.
func TestArchiveTrimNames(t *testing.T) {
	pc, err := pmapi.Open(t.Context(), "testdata/derive")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	has, err := pc.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pc.Lookup(t.Context(), has[:1])
	if err != nil {
		t.Fatal(err)
	}
	var b pmns.Builder
	for name, id := range map[string]pdu.PMID{"a.is": ids[0], "a.not": pdu.MakePMID(400, 1, 1), "b.not": pdu.MakePMID(400, 1, 1), "c": pdu.DynamicRoot(ids[0].Domain())} {
		if err := b.Add(name, id); err != nil {
			t.Fatal(err)
		}
	}
	for trim, want := range map[bool][]string{true: {"a.is"}, false: {"a.is", "a.not", "b.not", "c"}} {
		pc, err := pmapi.ArchiveOptions{Names: b.Tree(), TrimNames: trim}.Open(t.Context(), "testdata/derive")
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		got, err := pc.Traverse(t.Context(), "")
		got = slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, "event.") })
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("TrimNames %t: %v (-want +got):\n%s", trim, err, diff)
		}
	}
}

// TestArchiveMetadataOnly reads metadata from an archive that consists only of its metadata file.
// Fetches fail.
func TestArchiveMetadataOnly(t *testing.T) {
	dir := t.TempDir()
	meta, err := os.ReadFile("testdata/derive.meta")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.meta"), meta, 0o644); err != nil {
		t.Fatal(err)
	}
	var answers [2]string
	for i, path := range []string{"testdata/derive", filepath.Join(dir, "a")} {
		o := pmapi.ArchiveOptions{Files: archive.Options{MetadataOnly: i == 1}}
		pc, err := o.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		names, err := pc.Traverse(t.Context(), "")
		if err != nil || len(names) == 0 {
			t.Fatalf("names: %v, %v", names, err)
		}
		ids, err := pc.Lookup(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			desc, err := pc.Desc(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			insts, err := pc.InstancesEver(t.Context(), desc.InDom)
			if err != nil {
				err = pdu.FromError(err) // without the path
			}
			answers[i] += fmt.Sprintln(desc, insts, err)
		}
		answers[i] += fmt.Sprintln(names, pc.HostName(t.Context()))
		if i == 0 {
			continue
		}
		if err := pc.Fetch(t.Context(), ids, new(pdu.Result)); !errors.Is(err, pdu.ErrLogFile) {
			t.Errorf("fetch: %v", err)
		}
		if _, err := pc.ArchiveEnd(t.Context()); !errors.Is(err, pdu.ErrLogFile) {
			t.Errorf("end: %v", err)
		}
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		t.Errorf("(-whole +metadata alone):\n%s", diff)
	}
}
