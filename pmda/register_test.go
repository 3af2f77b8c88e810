package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// always returns a Value function with the same value for every instance.
func always[T pdu.Scalar](v T) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return v, nil }
}

// must fails the test for errors of its preparation.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fetched returns the result of a fetch as text, with one line for each set: "251.0.1: 0=5 3=7" or
// "251.0.1: error -12358".
func fetched(t testing.TB, h pmda.Handler, r *pmda.Request, ids ...pdu.PMID) string {
	t.Helper()
	var w pdu.ResultWriter
	must(t, h.Fetch(t.Context(), r, ids, &w))
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	must(t, err)
	var res pdu.Result
	must(t, res.Decode(b[pdu.HeaderLen:]), res.Validate())
	var s strings.Builder
	for _, set := range res.All() {
		fmt.Fprintf(&s, "%v:", set.PMID)
		if err := set.Err(); err != nil {
			fmt.Fprintf(&s, " error %d", int32(pdu.FromError(err)))
		}
		desc, _ := h.Desc(t.Context(), r, set.PMID)
		for id, a := range set.All(desc.Type) {
			fmt.Fprintf(&s, " %d=%v", id, a)
		}
		s.WriteString("\n")
	}
	return s.String()
}

func TestRegisterErrors(t *testing.T) {
	other := &pmda.Agent{Name: "other", Domain: 252}
	foreign, foreignGroup := other.AddInDom("foreign"), other.Group(nil)
	good := func() pmda.Metric[uint32] { return pmda.Metric[uint32]{Name: "a.b", Value: always[uint32](1)} }
	for _, c := range []struct {
		name  string
		spoil func(m *pmda.Metric[uint32])
		want  string
	}{
		{"no name", func(m *pmda.Metric[uint32]) { m.Name = "" }, `register: no name`},
		{"bad name", func(m *pmda.Metric[uint32]) { m.Name = "a.7" }, `register "a.7": '7' at byte 2, want letters, digits and underscores after a letter`},
		{"name with a hyphen", func(m *pmda.Metric[uint32]) { m.Name = "a.my-x" },
			`register "a.my-x": '-' at byte 4, want letters, digits and underscores after a letter`},
		{"name that ends with a dot", func(m *pmda.Metric[uint32]) { m.Name = "a." }, `register "a.": its last component is empty`},
		{"name of an event's flags", func(m *pmda.Metric[uint32]) { m.Name = "event.flags" },
			`register "event.flags": names at and below "event" are reserved: there, clients have event.flags and event.missed, the parts of event records`},
		{"name below event", func(m *pmda.Metric[uint32]) { m.Name = "event.x.y" }, `"event" are reserved`},
		{"event", func(m *pmda.Metric[uint32]) { m.Name = "event" }, `"event" are reserved`},
		{"name in use", func(m *pmda.Metric[uint32]) { m.Name = "a.used" }, `register "a.used": the name is in use`},
		{"below a metric", func(m *pmda.Metric[uint32]) { m.Name = "a.used.x" }, `register "a.used.x": "a.used" is a metric`},
		{"above a metric", func(m *pmda.Metric[uint32]) { m.Name = "a" }, `there are names below it`},
		{"no values", func(m *pmda.Metric[uint32]) { m.Value = nil }, `register "a.b": has no values: set Value or Values`},
		{"two kinds of values", func(m *pmda.Metric[uint32]) {
			m.Values = func(context.Context, *pmda.Request, *pmda.Values[uint32]) error { return nil }
		}, `register "a.b": has both Value and Values: set one of them`},
		{"ID in use", func(m *pmda.Metric[uint32]) { m.ID = pmda.Item(0, 0) }, `the ID 0.0 is in use by "a.used"`},
		{"ID out of range", func(m *pmda.Metric[uint32]) { m.ID = pmda.Item(0, 1024) }, "make it with Item"},
		{"cluster out of range", func(m *pmda.Metric[uint32]) { m.ID = pmda.Item(4096, 0) }, "make it with Item"},
		{"negative", func(m *pmda.Metric[uint32]) { m.ID = pmda.Item(-1, 0) }, "make it with Item"},
		{"bare ID", func(m *pmda.Metric[uint32]) { m.ID = 7 }, "make it with Item"},
		{"other type", func(m *pmda.Metric[uint32]) { m.Type = pdu.TypeDouble }, "type DOUBLE cannot hold Go values of type U32 (uint32)"},
		{"events of numbers", func(m *pmda.Metric[uint32]) { m.Type = pdu.TypeEvent }, "type EVENT cannot hold"},
		{"bad semantics", func(m *pmda.Metric[uint32]) { m.Sem = 2 }, "no semantics have the number 2"},
		{"bad labels", func(m *pmda.Metric[uint32]) { m.Labels = "{" }, "Labels `{`: labels: "},
		{"free InDom", func(m *pmda.Metric[uint32]) { m.InDom = &pmda.InDom{} }, "its InDom belongs to no agent: make it with AddInDom or Attach it"},
		{"foreign InDom", func(m *pmda.Metric[uint32]) { m.InDom = foreign }, "its InDom belongs to agent other"},
		{"foreign Group", func(m *pmda.Metric[uint32]) { m.Group = foreignGroup }, "its Group belongs to agent other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &pmda.Agent{Name: "a", Domain: 251}
			used := good()
			used.Name = "a.used"
			must(t, pmda.Register(a, used), a.Err())
			m := good()
			c.spoil(&m)
			err := pmda.Register(a, m)
			if err == nil || !strings.HasPrefix(err.Error(), "pmda: agent a: register") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Register: %v, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), pdu.ErrName.Error()) {
				t.Errorf("Register: %v speaks to a client that asks for a name", err)
			}
			later := good()
			later.Name = ""
			_ = pmda.Register(a, later)
			if a.Err() != err {
				t.Errorf("Err: %v, want the first error %v", a.Err(), err)
			}
			must(t, pmda.Register(a, good()))
			if got := fetched(t, a, request(), pdu.MakePMID(251, 0, 1)); got != "251.0.1: -1=1\n" {
				t.Errorf("the next metric: %s", got)
			}
		})
	}
}

func TestAttachErrors(t *testing.T) {
	other := &pmda.Agent{Name: "other", Domain: 252}
	foreign, foreignGroup := other.AddInDom("foreign"), other.Group(nil)
	for _, c := range []struct {
		name string
		d    *pmda.InDom
		want string
	}{
		{"serial in use", &pmda.InDom{Name: "x", Serial: pmda.InDomSerial(0)}, `pmda: agent a: attach instance domain "x": serial 0 is in use by "first"`},
		{"negative", &pmda.InDom{Name: "x", Serial: pmda.InDomSerial(-1)}, "its Serial is out of range (0..4194303)"},
		{"too high", &pmda.InDom{Name: "x", Serial: pmda.InDomSerial(1 << 22)}, "its Serial is out of range"},
		{"plain number", &pmda.InDom{Name: "x", Serial: 3}, "make it with InDomSerial"},
		{"labels", &pmda.InDom{Name: "x", Serial: pmda.InDomSerial(1), Labels: "[]"}, "Labels `[]`: labels: "},
		{"attached", foreign, "it belongs to agent other"},
		{"foreign Group", &pmda.InDom{Name: "x", Serial: pmda.InDomSerial(1), Group: foreignGroup}, "its Group belongs to agent other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &pmda.Agent{Name: "a", Domain: 251}
			a.AddInDom("first", "x")
			must(t, a.Err())
			if err := a.Attach(c.d); err == nil || !strings.Contains(err.Error(), c.want) || a.Err() != err {
				t.Errorf("Attach: %v (Err %v), want %q in it", err, a.Err(), c.want)
			}
		})
	}
	a := &pmda.Agent{Name: "a", Domain: 251}
	a.AddInDom("twins", "x 1", "x 2")
	if err := a.Err(); err == nil || !strings.Contains(err.Error(), `agent a: add instance domain "twins": instances "x 1" and "x 2" are the same up to the first space`) {
		t.Errorf("AddInDom with twins: %v", err)
	}
}

func TestAgentErr(t *testing.T) {
	for want, a := range map[string]*pmda.Agent{
		"pmda: serve: agent without a Name":                                                                   {Domain: 1},
		"pmda: agent a: serve: needs a Domain: 385 to 510 are free for agents of one's own":                   {Name: "a"},
		"pmda: agent a: serve: domain 511 out of range (1..510): 385 to 510 are free for agents of one's own": {Name: "a", Domain: 511},
		"pmda: agent a: serve: domain -1 out of range (1..510): 385":                                          {Name: "a", Domain: -1},
		"pmda: agent a: serve: DomainLabels `{`: labels: ":                                                    {Name: "a", Domain: 1, DomainLabels: "{"},
		"pmda: agent a: serve: ClusterLabels[3] \"`" + strings.Repeat("x", 59) + "\"...: labels: ":            {Name: "a", Domain: 1, ClusterLabels: map[int]string{3: "`" + strings.Repeat("x", 70)}},
		"pmda: agent a: register: has no values":                                                              {Name: "a", Domain: 1},
	} {
		if strings.Contains(want, "register") {
			_ = pmda.Register(a, pmda.Metric[int32]{})
		}
		if err := a.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Err: %v, want %s", err, want)
		}
	}
}

// TestIDs registers automatic and explicit numbers side by side.
func TestIDs(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	for _, m := range []struct {
		name string
		id   pmda.ItemID
	}{{"a.auto0", 0}, {"a.one", pmda.Item(0, 1)}, {"a.auto2", 0}, {"a.high", pmda.Item(4095, 1023)}, {"a.three", pmda.Item(0, 3)}, {"a.four", pmda.Item(0, 4)}, {"a.auto5", 0}} {
		register(t, a, pmda.Metric[int32]{Name: m.name, ID: m.id, Value: always[int32](1)})
	}
	got := map[string]string{}
	for name, id := range a.Namespace().All() {
		got[name] = id.String()
	}
	want := map[string]string{"a.auto0": "251.0.0", "a.one": "251.0.1", "a.auto2": "251.0.2", "a.high": "251.4095.1023",
		"a.three": "251.0.3", "a.four": "251.0.4", "a.auto5": "251.0.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Namespace (-want +got):\n%s", diff)
	}
}

// TestManyMetrics registers 10,000 metrics quickly. After cluster 0 the Agent chooses the last
// clusters.
func TestManyMetrics(t *testing.T) {
	start := time.Now()
	a := &pmda.Agent{Name: "a", Domain: 251}
	for i := range 1024 {
		register(t, a, pmda.Metric[int32]{Name: "a.auto" + strconv.Itoa(i), Value: always[int32](1)})
	}
	register(t, a, pmda.Metric[int32]{Name: "a.more", Value: always[int32](1)})
	if id, err := a.Namespace().Lookup("a.more"); err != nil || id != pdu.MakePMID(251, 4095, 0) {
		t.Errorf("item 1024 has PMID %v, %v", id, err)
	}
	for i := range 10000 {
		register(t, a, pmda.Metric[int32]{Name: "a.m" + strconv.Itoa(i), ID: pmda.Item(1+i/1000, i%1000), Value: always[int32](1)})
	}
	if n := a.Namespace().Len(); n != 11025 {
		t.Errorf("%d names, want 11025", n)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

type (
	Colour  string
	Count   uint64
	Delta   int64
	Small   int32
	Flags   uint32
	Ratio   float64
	Ratio32 float32
	Blob    []byte
)

// one registers a singular metric and its store, which counts stores.
func one[T pdu.Scalar](t *testing.T, a *pmda.Agent, name string, v T, typ pdu.Type) {
	t.Helper()
	register(t, a, pmda.Metric[T]{Name: "a." + name, Type: typ, Value: always(v)})
	register(t, a, pmda.Metric[T]{Name: "b." + name, Type: typ, Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		s.Put(99, v) // the instance does not matter
		return nil
	}})
}

// TestTypes registers every type, and named types of each.
func TestTypes(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	one(t, a, "int32", int32(-5), 0)
	one(t, a, "uint32", uint32(1<<31), 0)
	one(t, a, "int64", int64(-1<<40), 0)
	one(t, a, "uint64", uint64(1<<63), 0)
	one(t, a, "float32", float32(0.5), 0)
	one(t, a, "float64", 0.25, 0)
	one(t, a, "string", "text", 0)
	one(t, a, "bytes", []byte{1, 2}, 0)
	one(t, a, "Small", Small(-5), 0)
	one(t, a, "Flags", Flags(1<<31), pdu.TypeU32)
	one(t, a, "Delta", Delta(-1<<40), 0)
	one(t, a, "Count", Count(1<<63), 0)
	one(t, a, "Ratio32", Ratio32(0.5), 0)
	one(t, a, "Ratio", Ratio(0.25), 0)
	one(t, a, "Colour", Colour("red"), 0)
	one(t, a, "Blob", Blob{1, 2}, 0)
	one(t, a, "static", []byte{1, 2}, pdu.TypeAggregateStatic)
	var e pdu.EventBuilder
	e.Begin(time.Time{}, 0)
	events, err := e.Atom()
	must(t, err)
	one(t, a, "event", events.Bytes(), pdu.TypeEvent)
	h := pdu.EventBuilder{HighRes: true}
	events, err = h.Atom()
	must(t, err)
	one(t, a, "event2", Blob(events.Bytes()), pdu.TypeHighResEvent)

	got := map[string]string{}
	for name, id := range a.Namespace().All() {
		d, err := a.Desc(t.Context(), request(), id)
		must(t, err)
		_, v, _ := strings.Cut(strings.TrimSpace(fetched(t, a, request(), id)), ": ")
		got[name] = d.Type.String() + " " + v
	}
	want := map[string]string{}
	for name, v := range map[string]string{
		"int32": "32 -1=-5", "uint32": "U32 -1=2147483648", "int64": "64 -1=-1099511627776", "uint64": "U64 -1=9223372036854775808",
		"float32": "FLOAT -1=5.000000e-01", "float64": "DOUBLE -1=2.500000e-01", "string": `STRING -1="text"`,
		"bytes": "AGGREGATE -1=[type=AGGREGATE len=2] 0102",
		"Small": "32 -1=-5", "Flags": "U32 -1=2147483648", "Delta": "64 -1=-1099511627776", "Count": "U64 -1=9223372036854775808",
		"Ratio32": "FLOAT -1=5.000000e-01", "Ratio": "DOUBLE -1=2.500000e-01", "Colour": `STRING -1="red"`,
		"Blob":   "AGGREGATE -1=[type=AGGREGATE len=2] 0102",
		"static": "AGGREGATE_STATIC -1=[type=AGGREGATE_STATIC len=2] 0102",
		"event":  "EVENT -1=[1 event record]", "event2": "HIGHRES_EVENT -1=[0 event records]",
	} {
		want["a."+name], want["b."+name] = v, v
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types and values (-want +got):\n%s", diff)
	}
	pmdatest.Run(t, a)
}

// TestDomainLater checks that the domain may be set after metrics were registered, and even after
// Namespace was called.
func TestDomainLater(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 1}
	d := a.AddInDom("i", "x")
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d, Value: always[int32](1)})
	if id, _ := a.Namespace().Lookup("a.x"); id != pdu.MakePMID(1, 0, 0) {
		t.Errorf("PMID %v in domain 1", id)
	}
	a.Domain = 251
	id, _ := a.Namespace().Lookup("a.x")
	desc, err := a.Desc(t.Context(), request(), id)
	must(t, err)
	want := pdu.Desc{PMID: pdu.MakePMID(251, 0, 0), Type: pdu.Type32, InDom: pdu.MakeInDom(251, 0), Sem: pdu.SemInstant}
	if diff := cmp.Diff(want, desc); diff != "" || d.ID() != want.InDom {
		t.Errorf("descriptor (-want +got):\n%s\nInDom %v", diff, d.ID())
	}
	if _, err := a.Desc(t.Context(), request(), pdu.MakePMID(1, 0, 0)); !errors.Is(err, pdu.ErrPMID) {
		t.Errorf("Desc in the old domain: %v", err)
	}
	if id := new(pmda.InDom).ID(); id != pdu.NoInDom {
		t.Errorf("ID of an InDom that no agent has: %v", id)
	}
}

// TestNamesChange checks that the name space stays the same until names are registered, and that
// the next fetch then reports the change to clients.
func TestNamesChange(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	register(t, a, pmda.Metric[int32]{Name: "a.x", Value: always[int32](1)})
	changed := func() pdu.Change {
		var w pdu.ResultWriter
		must(t, a.Fetch(t.Context(), request(), nil, &w))
		return w.Changed
	}
	if c := changed(); c != 0 {
		t.Errorf("at first: %v", c)
	}
	n := a.Namespace()
	a.AddInDom("d", "i")
	_ = a.Attach(&pmda.InDom{})
	if a.Namespace() != n || changed() != 0 {
		t.Errorf("an instance domain changes the names")
	}
	register(t, a, pmda.Metric[int32]{Name: "a.y", Value: always[int32](2)})
	if c := changed(); c != pdu.ChangeNames {
		t.Errorf("after Register: %v", c)
	}
	if c := changed(); c != 0 {
		t.Errorf("again: %v", c)
	}
	if m := a.Namespace(); m == n || m.Len() != 2 {
		t.Errorf("after Register: %d names", m.Len())
	}
	a.Notify(pdu.ChangeLabels | pdu.ChangeAddAgent)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var w pdu.ResultWriter
	if must(t, a.Fetch(ctx, request(), nil, &w)); w.Changed != 0 {
		t.Errorf("to a client that has gone: %v", w.Changed)
	}
	o := override.In(a)
	o.Fetch = func(context.Context, *pmda.Request, []pdu.PMID, *pdu.ResultWriter) error { return nil }
	if c := changed(); c != pdu.ChangeLabels {
		t.Errorf("after Notify, with a wrapper: %v", c)
	}
}

// TestRegistrationSite checks that errors of registrations have the file and line of the call.
func TestRegistrationSite(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	_, _, line, _ := runtime.Caller(0)
	for i, err := range []error{
		pmda.Register(a, pmda.Metric[int32]{Name: "a.b"}),
		a.Attach(nil),
		pmda.Register((*pmda.Agent)(nil), pmda.Metric[int32]{Name: "a.b"}),
		pmda.Register(nil, pmda.Metric[int32]{Name: "a.b"}),
	} {
		want := fmt.Sprintf("register_test.go:%d)", line+2+i)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want it to end in %s", err, want)
		}
	}
	if err := a.Remove("a.b"); err == nil || strings.Contains(err.Error(), ".go:") {
		t.Errorf("an error of another operation: %v", err)
	}
}
