package pmdatrace

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// filled returns an agent with tags of all kinds, all of them in the window.
func filled(t testing.TB, o Options, tags ...string) (*Agent, *app) {
	t.Helper()
	a := New(o)
	ln := listenTCP(t)
	serveAgent(t, a, ln)
	c := dialTCP(t, ln)
	for _, tag := range tags {
		for kind := tracewire.KindTransaction; kind <= tracewire.KindCounter; kind++ {
			c.send(kind, tag, 0.25)
			c.send(kind, tag, 0.5)
		}
	}
	a.mu.Lock()
	// One interval passes.
	a.table.start = a.table.start.Add(-a.table.period / time.Duration(a.table.buckets))
	a.mu.Unlock()
	return a, c
}

// clashing are tags that are the same up to the first space. Tools cannot tell such instances
// apart. The C agent accepts these tags, and so do we, because otherwise values would be lost.
var clashing = []string{"one", "two", "two words", "two more"}

func TestConformance(t *testing.T) {
	a, _ := filled(t, Options{}, "one", "two", "three words here")
	pmdatest.Run(t, a.PMDA, pmdatest.Texts())
	start := func() pmda.Handler { return New(Options{}).PMDA }
	pmdatest.Run(t, start(), pmdatest.Texts(), pmdatest.Restart(start), pmdatest.Stores(
		pmdatest.Store{Metric: "trace.control.debug", Value: "2048"},
		pmdatest.Store{Metric: "trace.control.reset", Value: "7", Want: "1"},
		pmdatest.Store{Metric: "trace.control.period", Value: "7", Err: pdu.ErrPMID}))
}

// TestDescs checks that the numbers and descriptors are those of PCP's agent.
func TestDescs(t *testing.T) {
	a := New(Options{Domain: 400, ObserveUnits: pdu.SpaceByte, CounterUnits: pdu.UnitCount})
	got := map[string]string{}
	for name, id := range a.PMDA.Namespace().All() {
		d, err := a.PMDA.Desc(t.Context(), request(), id)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = strings.Join([]string{id.String(), d.Type.String(), d.InDom.String(), d.Sem.String(), d.Units.String()}, " ")
	}
	want := map[string]string{
		"trace.transact.count":      "400.0.0 U64 400.0 counter count",
		"trace.transact.rate":       "400.0.1 FLOAT 400.0 instant count / sec",
		"trace.transact.ave_time":   "400.0.2 FLOAT 400.0 instant sec / count",
		"trace.transact.min_time":   "400.0.3 FLOAT 400.0 instant sec",
		"trace.transact.max_time":   "400.0.4 FLOAT 400.0 instant sec",
		"trace.transact.total_time": "400.0.5 DOUBLE 400.0 counter sec",
		"trace.point.count":         "400.0.6 U64 400.1 counter count",
		"trace.point.rate":          "400.0.7 FLOAT 400.1 instant count / sec",
		"trace.observe.count":       "400.0.8 U64 400.2 counter count",
		"trace.observe.rate":        "400.0.9 FLOAT 400.2 instant count / sec",
		"trace.observe.value":       "400.0.10 DOUBLE 400.2 instant byte",
		"trace.control.period":      "400.0.11 U32 PM_INDOM_NULL discrete sec",
		"trace.control.interval":    "400.0.12 U32 PM_INDOM_NULL discrete sec",
		"trace.control.buckets":     "400.0.13 U32 PM_INDOM_NULL discrete ",
		"trace.control.port":        "400.0.14 U32 PM_INDOM_NULL discrete ",
		"trace.control.reset":       "400.0.15 U32 PM_INDOM_NULL discrete ",
		"trace.control.debug":       "400.0.16 32 PM_INDOM_NULL discrete ",
		"trace.counter.count":       "400.0.17 U64 400.3 counter count",
		"trace.counter.rate":        "400.0.18 FLOAT 400.3 instant count / sec",
		"trace.counter.value":       "400.0.19 DOUBLE 400.3 counter count",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValues(t *testing.T) {
	a, c := filled(t, Options{Period: 8*time.Second + time.Millisecond, Buckets: 4}, clashing...)
	for name, want := range map[string]float64{
		"transact.count": 2, "transact.rate": 0.25, "transact.ave_time": 0.375, "transact.min_time": 0.25, "transact.max_time": 0.5,
		"transact.total_time": 0.75, "point.count": 2, "point.rate": 0.25, "observe.count": 2, "observe.rate": 0.25,
		"observe.value": 0.5, "counter.count": 2, "counter.rate": 0.25, "counter.value": 0.5,
	} {
		all := map[string]float64{"one": want, "two": want, "two words": want, "two more": want}
		if diff := cmp.Diff(all, fetch(t, a, "trace."+name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range map[string]float64{"period": 8, "interval": 2, "buckets": 4, "reset": 1, "debug": 0} {
		if got := fetch(t, a, "trace.control."+name)[""]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := fetch(t, a, "trace.control.port")[""]; got != float64(c.port()) {
		t.Errorf("port %v, want %d", got, c.port())
	}
	// There are no values. The C agent fails the whole fetch.
	none := &pdu.Profile{Exclude: true}
	if got := fetchProfile(t, a, "trace.point.rate", none); len(got) != 0 {
		t.Errorf("no instance is wanted: %v", got)
	}
	second := &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: pdu.MakeInDom(Domain, 1), Exclude: true, Insts: []pdu.InstID{2, 99}}}}
	if diff := cmp.Diff(map[string]float64{"two": 2}, fetchProfile(t, a, "trace.point.count", second)); diff != "" {
		t.Errorf("one instance is wanted (-want +got):\n%s", diff)
	}
}

// names returns the instances of a kind.
func names(t *testing.T, a *Agent, kind tracewire.Kind) []pdu.Instance {
	t.Helper()
	list, err := a.PMDA.Instances(t.Context(), request(), indomOf(Domain, kind), pdu.NoInst, "")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(list)
}

func TestReset(t *testing.T) {
	a, c := filled(t, Options{Logger: logTo(io.Discard)}, clashing...)
	before := names(t, a, tracewire.KindPoint)
	if err := store(t, a, "trace.control.reset", 7); err != nil {
		t.Fatal(err)
	}
	if got := names(t, a, tracewire.KindPoint); len(got) != 0 {
		t.Errorf("after the reset there are %v", got)
	}
	for _, name := range []string{"transact.count", "point.rate", "observe.value"} {
		if got := fetch(t, a, "trace."+name); len(got) != 0 {
			t.Errorf("after the reset %s is %v", name, got)
		}
	}
	c.send(tracewire.KindPoint, "new", -1)
	c.send(tracewire.KindPoint, "two words", -1)
	want := []pdu.Instance{before[2], {ID: 5, Name: "new"}}
	if diff := cmp.Diff(want, names(t, a, tracewire.KindPoint)); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if got := fetch(t, a, "trace.point.count"); got["two words"] != 1 {
		t.Errorf("counts after the reset: %v", got)
	}
	a.reset() // IDs are remembered across several resets
	c.send(tracewire.KindPoint, "one", -1)
	if diff := cmp.Diff(before[:1], names(t, a, tracewire.KindPoint)); diff != "" {
		t.Errorf("instances after two resets (-want +got):\n%s", diff)
	}
}

func TestLookup(t *testing.T) {
	a, _ := filled(t, Options{}, clashing...)
	for _, tt := range []struct {
		id   pdu.InstID
		name string
		want pdu.InstID
		err  error
	}{
		{pdu.NoInst, "two", 2, nil},
		{pdu.NoInst, "two words", 3, nil},
		{pdu.NoInst, "tw", 0, pdu.ErrInst},
		{pdu.NoInst, "two  words", 0, pdu.ErrInst},
		{4, "", 4, nil},
		{5, "", 0, pdu.ErrInst},
		{0, "", 0, pdu.ErrInst},
		{1, "one", 0, pdu.ErrInst},
	} {
		got, err := a.PMDA.Instances(t.Context(), request(), indomOf(Domain, tracewire.KindCounter), tt.id, tt.name)
		if !errors.Is(err, tt.err) || err == nil && (len(got) != 1 || got[0].ID != tt.want) {
			t.Errorf("%d %q: %v, %v", tt.id, tt.name, got, err)
		}
	}
}

// TestLookupFirstWord checks that a name up to a space finds the first of several tags.
func TestLookupFirstWord(t *testing.T) {
	var k kindTable
	k.tags = map[string]*tag{}
	k.insert(&tag{id: 1, name: "order 200"})
	k.insert(&tag{id: 2, name: "order 500"})
	if i, ok := k.instance(pdu.NoInst, "order"); !ok || i.ID != 1 {
		t.Errorf("got %v, %v", i, ok)
	}
}

func TestStore(t *testing.T) {
	var log lines
	a, c := filled(t, Options{Logger: logTo(&log)}, "one")
	if err := store(t, a, "trace.control.debug", logClients|logValues); err != nil {
		t.Fatal(err)
	}
	c.send(tracewire.KindObservation, "fresh", 42)
	if got := fetch(t, a, "trace.control.debug")[""]; got != logClients|logValues {
		t.Errorf("debug is %v", got)
	}
	for _, want := range []string{`msg="new tag"`, "msg=value", "kind=observation", "tag=fresh", "value=42", "new=2049"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, &log)
		}
	}
	for _, name := range []string{"trace.control.port", "trace.point.count"} {
		if err := store(t, a, name, 1); !errors.Is(err, pdu.ErrPMID) {
			t.Errorf("store into %s: %v", name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Period: time.Millisecond}, "period 1ms out of range"},
		{Options{Period: -time.Minute}, "period -1m0s out of range"},
		{Options{Period: maxPeriod + time.Second}, "out of range"},
		{Options{Buckets: -1}, "-1 buckets"},
		{Options{Buckets: 1001}, "1001 buckets"},
		{Options{MaxTags: -1}, "a limit is below 0"},
		{Options{Domain: 511}, "domain 511 out of range"},
	} {
		a := New(tt.o)
		if err := a.PMDA.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.o, err, tt.want)
		}
		if err := a.Serve(t.Context(), newPipeListener()); err == nil || err.Error() != a.PMDA.Err().Error() {
			t.Errorf("%+v: Serve: %v", tt.o, err)
		}
	}
	if err := New(Options{}).PMDA.Err(); err != nil {
		t.Error(err)
	}
}
