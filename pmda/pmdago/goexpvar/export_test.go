package goexpvar

import (
	"cmp"
	"context"
	"expvar"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

// A shelf holds variables that a test publishes and removes.
type shelf struct {
	mu   sync.Mutex
	vars map[string]expvar.Var
}

func (s *shelf) do(f func(expvar.KeyValue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.vars)) {
		f(expvar.KeyValue{Key: key, Value: s.vars[key]})
	}
}

// set publishes a variable, or removes it if v is nil.
func (s *shelf) set(key string, v expvar.Var) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == nil {
		delete(s.vars, key)
	} else {
		s.vars[key] = v
	}
}

// text is a variable whose String method returns the text.
type text string

func (t text) String() string { return string(t) }

func integer(n int64) *expvar.Int { v := new(expvar.Int); v.Set(n); return v }

func float(f float64) *expvar.Float { v := new(expvar.Float); v.Set(f); return v }

func str(s string) *expvar.String { v := new(expvar.String); v.Set(s); return v }

func mapOf(entries ...any) *expvar.Map {
	m := new(expvar.Map)
	for i := 0; i < len(entries); i += 2 {
		m.Set(entries[i].(string), entries[i+1].(expvar.Var))
	}
	return m
}

// A bench is an agent that exports a shelf.
type bench struct {
	*exporter
	testing.TB
	*shelf
	log *strings.Builder
}

func newBench(t testing.TB, vars map[string]expvar.Var) bench {
	t.Helper()
	b := bench{TB: t, shelf: &shelf{vars: vars}, log: new(strings.Builder)}
	a := &pmda.Agent{Name: "x", Domain: 251, Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey {
				return slog.Attr{}
			}
			return a
		}}))}
	pmda.Register(a, pmda.Metric[uint32]{Name: "x.own", Text: "Another's", Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 77, nil }})
	b.exporter = add(a, "x.vars", b.shelf.do)
	b.calls.Timeout = time.Hour // so that calls do not time out on a busy machine
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

func request() *pmda.Request { return &pmda.Request{Client: pmda.NewClient(0, 1)} }

// all returns the names of all metrics.
func (b bench) all() []string {
	b.Helper()
	list, err := b.agent.Traverse(b.Context(), request(), "x.vars")
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// id returns the PMID of a name.
func (b bench) id(name string) pdu.PMID {
	b.Helper()
	id, err := b.agent.PMID(b.Context(), request(), name)
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return id
}

// fetch fetches metrics, and reports whether names have changed.
func (b bench) fetch(ids ...pdu.PMID) (*pdu.Result, bool) {
	b.Helper()
	var w pdu.ResultWriter
	if err := b.agent.Fetch(b.Context(), request(), ids, &w); err != nil {
		b.Fatal(err)
	}
	r, err := w.Result()
	if err != nil {
		b.Fatal(err)
	}
	return r, w.Changed&pdu.ChangeNames != 0
}

// show returns a metric as a line: its type and its values.
func (b bench) show(id pdu.PMID) string {
	b.Helper()
	d, err := b.agent.Desc(b.Context(), request(), id)
	if err != nil {
		b.Fatal(err)
	}
	r, _ := b.fetch(id)
	out := fmt.Sprint(d.Type)
	if err := r.At(0).Err(); err != nil {
		return out + ": " + err.Error()
	}
	names := map[pdu.InstID]string{pdu.NoInst: ""}
	if d.InDom != pdu.NoInDom {
		list, err := b.agent.Instances(b.Context(), request(), d.InDom, pdu.NoInst, "")
		if err != nil {
			b.Fatal(err)
		}
		for _, i := range list {
			names[i.ID] = fmt.Sprintf("[%d %s]", i.ID, i.Name)
		}
	}
	for id, v := range r.At(0).All(d.Type) {
		out += " " + names[id] + plain(v)
	}
	return out
}

// plain formats a value.
func plain(v pdu.Atom) string {
	if v.Type == pdu.TypeDouble {
		f, _ := pdu.As[float64](v)
		return fmt.Sprint(f)
	}
	return strings.Trim(v.String(), `"`)
}

// picture returns all metrics as lines.
func (b bench) picture() string {
	b.Helper()
	out := "\n"
	for _, name := range b.all() {
		out += strings.TrimPrefix(name, "x.vars.") + " " + b.show(b.id(name)) + "\n"
	}
	return out
}

func TestVariables(t *testing.T) {
	for _, c := range []struct {
		name string
		vars map[string]expvar.Var
		want string // a picture
		log  string // part of each line
	}{
		{"none", nil, "", ""},
		{"own types", map[string]expvar.Var{"hits": integer(-5), "load": float(1.5), "name": str("blue"), "big": integer(math.MaxInt64)},
			"big 64 9223372036854775807\nhits 64 -5\nload DOUBLE 1.5\nname STRING blue\n", ""},
		{"of expvar itself", map[string]expvar.Var{"memstats": text(`{"a":1}`), "cmdline": text(`["secret"]`), "x": integer(1)}, "x 64 1\n", ""},
		{"not a number", map[string]expvar.Var{"a": float(math.NaN()), "b": float(math.Inf(1)), "m": mapOf("n", float(math.NaN()), "o", float(1))},
			"a DOUBLE\nb DOUBLE +Inf\nm DOUBLE [1 o]1\n", ""},
		{"maps", map[string]expvar.Var{"ints": mapOf("GET", integer(3), "POST", integer(4)), "floats": mapOf("a", integer(3), "b", float(0.5)), "empty": mapOf()},
			"floats DOUBLE [0 a]3 [1 b]0.5\nints 64 [0 GET]3 [1 POST]4\n", ""},
		{"mixed map", map[string]expvar.Var{"m": mapOf("hits", integer(3), "by", mapOf("a", integer(1)), "f", expvar.Func(func() any { return 2 }), "s", str("x"), "nothing", text("null"))},
			"m.by 64 [0 a]1\nm.f DOUBLE 2\nm.hits 64 3\nm.s STRING x\n", ""},
		{"documents", map[string]expvar.Var{
			"f": expvar.Func(func() any { return time.Second }), "s": text(`"text"`), "t": text(" true "), "n": text("null"),
			"doc": text(`{"a":1e3,"b":{"c":false,"d":"x","e":null,"f":[1,2],"g":{}}}`)},
			"doc.a DOUBLE 1000\ndoc.b.c U32 0\ndoc.b.d STRING x\nf DOUBLE 1e+09\ns STRING text\nt U32 1\n", "variable=doc.b.f"},
		{"names", map[string]expvar.Var{"": integer(1), "200": integer(2), "requests/s": integer(3), "größe": integer(4), "_x": integer(5), "a.b": integer(6), "\x00\xff": integer(7)},
			"x 64 1\nx__ 64 7\nx200 64 2\nx_x 64 5\na_b 64 6\ngr__e 64 4\nrequests_s 64 3\n", ""},
		{"same names", map[string]expvar.Var{"a b": integer(1), "a-b": integer(2), "d": text(`{"x y":1,"x-y":2}`)}, "a_b 64 1\nd.x_y DOUBLE 1\n", "variable=a-b"},
		{"instances", map[string]expvar.Var{"m": mapOf("", integer(1), "a b", integer(2), "a c", integer(3), "a\tb", integer(4), "\xff", integer(5), "日本", integer(6))},
			"m 64 [0 _]1 [1 a_b]4 [3 a_c]3 [4 日本]6\n", "m["},
		{"bad texts", map[string]expvar.Var{"a": text(""), "b": text("{"), "c": text("1 2"), "d": text("NaN"), "e": expvar.Func(func() any { return math.NaN() }), "f": text("nonsense"), "ok": text("1")},
			"ok DOUBLE 1\n", "not JSON"},
		{"odd numbers", map[string]expvar.Var{"a": text("1e999"), "b": text("-0.5"), "c": text(`{"x":1e999,"y":1}`)}, "a DOUBLE\nb DOUBLE -0.5\nc.x DOUBLE\nc.y DOUBLE 1\n", "out of range"},
		{"long strings", map[string]expvar.Var{"a": str(strings.Repeat("x", maxString+1)), "b": text(`"a\u0000b"`)}, "a STRING\nb STRING\n", "string is too long"},
		{"long text", map[string]expvar.Var{"a": text(`"` + strings.Repeat("x", maxText) + `"`)}, "", "too long"},
		{"long names", map[string]expvar.Var{strings.Repeat("x", maxName): integer(1), "m": mapOf(strings.Repeat("k", maxName+1), integer(1), "k", integer(2))}, "m 64 [0 k]2\n", "too long"},
		{"panics", map[string]expvar.Var{"a": expvar.Func(func() any { panic("at the disco") }), "b": (*expvar.Int)(nil), "c": (*expvar.Map)(nil), "d": mapOf("x", (*expvar.Int)(nil)), "ok": integer(1)},
			"ok 64 1\n", "panic"},
		{"nil", map[string]expvar.Var{"a": nil, "ok": integer(1)}, "ok 64 1\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.vars)
			got := b.picture()
			// Siblings are sorted by key.
			if diff := gocmp.Diff(sorted("\n"+c.want), sorted(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (c.log == "") != (b.log.Len() == 0) {
				t.Errorf("logged: %s", b.log)
			}
			before := b.log.String()
			for line := range strings.Lines(before) {
				if !strings.Contains(line, c.log) && !strings.Contains(line, "name") {
					t.Errorf("logged: %s, want %q", line, c.log)
				}
			}
			if again := b.picture(); again != got || b.log.String() != before {
				t.Errorf("at the second read:\n%s\nlogged: %s", again, strings.TrimPrefix(b.log.String(), before))
			}
			pmdatest.Run(t, b.agent, pmdatest.Texts())
		})
	}
}

func sorted(s string) []string {
	lines := strings.Split(s, "\n")
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a, b) })
	return lines
}

func TestChildren(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a": integer(1), "m": mapOf("x", integer(1), "y", text(`{"p":1,"q":2}`))})
	for _, c := range []struct {
		name string
		want []pmns.Child
		err  error
	}{
		{"x.vars", []pmns.Child{{Name: "a", Leaf: true}, {Name: "m"}}, nil},
		{"x.vars.m", []pmns.Child{{Name: "x", Leaf: true}, {Name: "y"}}, nil},
		{"x.vars.m.y", []pmns.Child{{Name: "p", Leaf: true}, {Name: "q", Leaf: true}}, nil},
		{"x.vars.a", nil, nil},
		{"x.vars.b", nil, pdu.ErrName},
		{"x.varsx", nil, pdu.ErrName},
		{"x", nil, pdu.ErrName},
	} {
		got, err := b.agent.Children(t.Context(), request(), c.name)
		if diff := gocmp.Diff(c.want, got); diff != "" || err != c.err {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	for name, want := range map[string]error{"x.vars": pdu.ErrNonLeaf, "x.vars.m": pdu.ErrNonLeaf, "x.vars.m.y": pdu.ErrNonLeaf, "x.vars.m.z": pdu.ErrName, "x.vars.a.b": pdu.ErrName, "y": pdu.ErrName} {
		if _, err := b.agent.PMID(t.Context(), request(), name); err != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// TestComeAndGo publishes variables, removes them and changes their types.
func TestComeAndGo(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a": integer(1)})
	a := b.id("x.vars.a")
	want := func(changed bool, line string, ids ...pdu.PMID) {
		t.Helper()
		if _, got := b.fetch(ids...); got != changed {
			t.Errorf("names change: %v, want %v", got, changed)
		}
		if got := b.show(ids[0]); got != line {
			t.Errorf("got %s, want %s", got, line)
		}
	}
	want(false, "64 1", a)
	b.set("b", text(`{"x":1}`))
	want(true, "64 1", a)
	want(false, "64 1", a)
	x := b.id("x.vars.b.x")
	want(false, "DOUBLE 1", x)
	b.set("b", text(`{"x":"one","y":2}`)) // another type, and one more metric
	want(true, "DOUBLE", x)
	if names, err := b.agent.Names(t.Context(), request(), x); err != pdu.ErrPMID {
		t.Errorf("the names of what is gone: %v, %v", names, err)
	}
	s := b.id("x.vars.b.x")
	if s == x {
		t.Error("a string has the PMID of a number")
	}
	want(false, "STRING one", s)
	b.set("b", text(`{"x":3}`))
	want(true, "DOUBLE 3", x)
	if again := b.id("x.vars.b.x"); again != x {
		t.Errorf("a number has the PMID %v, and had %v", again, x)
	}
	b.set("b", nil)
	if _, changed := b.fetch(x); !changed {
		t.Error("a variable has gone, and no client is told")
	}
	if _, err := b.agent.Desc(t.Context(), request(), x); err != pdu.ErrPMID {
		t.Errorf("a metric of a variable that is gone: %v", err)
	}
	if _, err := b.agent.PMID(t.Context(), request(), "x.vars.b.x"); err != pdu.ErrName {
		t.Errorf("what is gone has a PMID: %v", err)
	}
	b.set("a", mapOf("k", integer(1)))
	want(true, "64", a)
	m := b.id("x.vars.a")
	want(false, "64 [0 k]1", m)
	b.set("a", mapOf("j", integer(2)))
	want(false, "64 [1 j]2", m) // instances do not change names
	b.set("a", mapOf("j", integer(2), "k", integer(3)))
	want(false, "64 [0 k]3 [1 j]2", m)
	b.set("a", mapOf("k", str("x")))
	want(true, "64", m)
	want(false, "STRING x", b.id("x.vars.a.k"))
}

// TestForget publishes short-lived variables in turn, many more than there are metric numbers.
// New metrics reuse the numbers of removed ones.
func TestForget(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"stays": integer(1)})
	stays := b.id("x.vars.stays")
	for i := range 12 {
		key := fmt.Sprint("v", i)
		m := new(expvar.Map)
		for n := range 900 {
			m.Set(fmt.Sprint("k", n), mapOf("key", integer(int64(n)))) // each has an instance domain
		}
		m.Set("s", str("x")) // so that m becomes a level of names
		b.set(key, m)
		if n := len(b.all()); n != 902 {
			t.Fatalf("round %d: %d names, want 902", i, n)
		}
		id := b.id("x.vars." + key + ".k7")
		if got := b.show(id); got != "64 [0 key]7" {
			t.Errorf("round %d: %s", i, got)
		}
		b.set(key, nil)
		if names := b.all(); !slices.Equal(names, []string{"x.vars.stays"}) {
			t.Fatalf("round %d: %v are left", i, names)
		}
		if len(b.known) != 1 || len(b.tops) != 1 {
			t.Fatalf("round %d: %d metrics and %d variables are kept", i, len(b.known), len(b.tops))
		}
	}
	if id := b.id("x.vars.stays"); id != stays {
		t.Errorf("what stays has become %v, and was %v", id, stays)
	}
	if err := pmdatest.Check(b.agent, pmdatest.Texts()); err != nil {
		t.Error(err)
	}
}

// TestSameNameLater checks that of two variables with the same name, the earlier one keeps it.
func TestSameNameLater(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a-b": integer(1)})
	id := b.id("x.vars.a_b")
	b.set("a b", integer(2))
	for range 3 {
		if got := b.show(id); got != "64 1" {
			t.Error(got)
		}
	}
	if _, changed := b.fetch(id); changed {
		t.Error("the names change with every fetch")
	}
	b.set("a-b", nil)
	if _, changed := b.fetch(id); !changed {
		t.Error("the name is another's, and nobody knows")
	}
	if got := b.show(b.id("x.vars.a_b")); got != "64 2" {
		t.Error(got)
	}
}

// TestSplit fetches metrics of the agent and of this package at once, also with a profile.
func TestSplit(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a": integer(1), "m": mapOf("p", integer(2), "q", integer(3))})
	own, err := b.agent.Namespace().Lookup("x.own")
	if err != nil {
		t.Fatal(err)
	}
	a, m, none := b.id("x.vars.a"), b.id("x.vars.m"), pdu.MakePMID(251, firstCluster, 1000)
	d, _ := b.agent.Desc(t.Context(), request(), m)
	r := request()
	r.Profile = &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: d.InDom, Insts: []pdu.InstID{0}}}}
	var w pdu.ResultWriter
	if err := b.agent.Fetch(t.Context(), r, []pdu.PMID{own, a, none, own, m, a}, &w); err != nil {
		t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range res.All() {
		line := s.PMID.String()
		if err := s.Err(); err != nil {
			line += " " + err.Error()
		}
		d, _ := b.agent.Desc(t.Context(), request(), s.PMID)
		for id, v := range s.All(d.Type) {
			line += fmt.Sprintf(" %d:%v", id, v)
		}
		got = append(got, line)
	}
	want := []string{"251.0.0 -1:77", "251.4000.0 -1:1", "251.4000.1000 " + pdu.ErrPMID.Error(), "251.0.0 -1:77", "251.4000.1 1:3", "251.4000.0 -1:1"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStore checks that clients cannot set variables.
func TestStore(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a": integer(1)})
	var w pdu.ResultWriter
	w.Begin(b.id("x.vars.a"))
	w.Int64(pdu.NoInst, 5)
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.agent.Store(t.Context(), request(), r); err != pdu.ErrPermission {
		t.Errorf("Store: %v", err)
	}
}

func TestAddRefused(t *testing.T) {
	a := &pmda.Agent{Name: "x", Domain: 251}
	if err := Add(a, "7"); err == nil || a.Err() == nil {
		t.Errorf("a bad root: %v, %v", err, a.Err())
	}
}

// TestFetchAllocs checks that a fetch of expvar's own types allocates only to walk over the
// variables.
func TestFetchAllocs(t *testing.T) {
	vars := map[string]expvar.Var{}
	for i := range 20 {
		vars[fmt.Sprintf("n%d", i)] = integer(int64(i))
	}
	b := newBench(t, nil)
	var list []expvar.KeyValue
	for _, key := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, expvar.KeyValue{Key: key, Value: vars[key]})
	}
	b.exporter.do = func(f func(expvar.KeyValue)) {
		for _, kv := range list {
			f(kv)
		}
	}
	var ids []pdu.PMID
	for _, name := range b.all() {
		ids = append(ids, b.id(name))
	}
	var w pdu.ResultWriter
	r, ctx := request(), t.Context()
	n := testing.AllocsPerRun(100, func() {
		w.Reset()
		if err := b.agent.Fetch(ctx, r, ids, &w); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 && !raceEnabled {
		t.Errorf("%v allocations for %d variables", n, len(ids))
	}
}
