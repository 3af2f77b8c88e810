package pmapi_test

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A testItem is an item, a set or events of a group, of package pmapi and of the C library.
// "-" is no instance and no scale.
type testItem struct {
	kind, metric, inst, field, scale string
	typ                              pdu.Type
}

func (w testItem) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s[%s] %s %q %v", w.kind, w.metric, w.inst, w.field, w.scale, w.typ))
}

// An itemResult is the result of a fetch for a testItem. Where there is an error, there is no
// value.
type itemResult struct {
	Status pdu.Error
	Rows   []resultRow
}

// refusal returns the error of an item that has no values.
func (r itemResult) refusal() pdu.Error {
	if r.Status == 0 && len(r.Rows) == 1 {
		return r.Rows[0].Status
	}
	return r.Status
}

type resultRow struct {
	Status pdu.Error
	Inst   int
	Name   string
	Time   string
	Value  anyValue
}

// An anyValue is a number, a text, bytes or nil.
type anyValue struct{ V any }

// A cGroup is a fetch group of the C library in a separate process.
type cGroup struct {
	t      *testing.T
	in     *bufio.Writer
	out    *bufio.Scanner
	items  []testItem
	refuse map[testItem]pdu.Error
}

func newCGroup(t *testing.T, host string, env ...string) *cGroup {
	t.Helper()
	program := pcptest.BuildC(t, filepath.Join("testdata", "fetchgroup.c"), "-Wall", "-lpcp")
	cmd := exec.Command(program, host)
	cmd.Env = append(pcptest.Env(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	g := &cGroup{t: t, in: bufio.NewWriter(in), out: bufio.NewScanner(out), refuse: map[testItem]pdu.Error{}}
	g.out.Buffer(nil, 1<<20)
	return g
}

func (g *cGroup) request(fields ...string) []string {
	g.t.Helper()
	fmt.Fprintln(g.in, strings.Join(fields, "\t"))
	g.in.Flush()
	return g.line()
}

func (g *cGroup) line() []string {
	g.t.Helper()
	if !g.out.Scan() {
		g.t.Fatalf("the C program has ended: %v", g.out.Err())
	}
	return strings.Split(g.out.Text(), "\t")
}

func (g *cGroup) status(text string) pdu.Error {
	g.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		g.t.Fatal(err)
	}
	return pdu.Error(n)
}

// add adds an item to the C group and returns C's status.
func (g *cGroup) add(w testItem) pdu.Error {
	g.t.Helper()
	fields := []string{w.kind, w.metric}
	switch w.kind {
	case "item":
		fields = append(fields, w.inst)
	case "event":
		fields = append(fields, w.inst, w.field)
	}
	fields = append(fields, w.scale, strconv.Itoa(int(w.typ)))
	code := g.status(g.request(fields...)[0])
	if code == 0 {
		g.items = append(g.items, w)
	}
	return code
}

// fetch fetches, and returns the results of the items.
func (g *cGroup) fetch() (pdu.Error, map[testItem]itemResult) {
	g.t.Helper()
	status := g.status(g.request("fetch")[0])
	all := map[testItem]itemResult{}
	for _, w := range g.items {
		f := g.line()
		got := itemResult{Status: g.status(f[1])}
		if w.kind == "item" {
			got = itemResult{Rows: []resultRow{{Status: got.Status, Value: anyValue{g.value(w.typ, f[2])}}}}
		} else {
			n, err := strconv.Atoi(f[2])
			if err != nil {
				g.t.Fatal(err)
			}
			for range n {
				got.Rows = append(got.Rows, g.row(w))
			}
		}
		for i, r := range got.Rows {
			if r.Status != 0 {
				got.Rows[i].Value, got.Rows[i].Time = anyValue{}, ""
			}
		}
		if got.Status != 0 {
			got.Rows = nil
		}
		all[w] = got
	}
	if f := g.line(); f[0] != "." {
		g.t.Fatalf("unexpected %q", f)
	}
	return status, all
}

func (g *cGroup) row(w testItem) resultRow {
	g.t.Helper()
	f := g.line()
	r := resultRow{Status: g.status(f[0])}
	if w.kind == "set" {
		r.Inst = int(g.status(f[1]))
		if f[2] != "-" {
			r.Name = g.text(f[2])
		}
		r.Value = anyValue{g.value(w.typ, f[3])}
		return r
	}
	r.Time, r.Value = f[1], anyValue{g.value(w.typ, f[2])}
	return r
}

func (g *cGroup) text(s string) string {
	g.t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "="))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// value is the Go value of what the C program has printed.
func (g *cGroup) value(typ pdu.Type, s string) (v any) {
	g.t.Helper()
	var err error
	switch typ {
	case pdu.TypeString:
		if s == "-" {
			return nil
		}
		return g.text(s)
	case pdu.TypeFloat, pdu.TypeDouble:
		v, err = strconv.ParseFloat(strings.TrimPrefix(s, "-nan"), 64)
		if s == "-nan" {
			v, err = nil, nil // no value
		}
	case pdu.TypeU64:
		v, err = strconv.ParseUint(s, 10, 64)
	default:
		v, err = strconv.ParseInt(s, 10, 64)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

// addItem adds an item to a group of package pmapi, and returns a function that returns its
// result.
func addItem(g *pmapi.Group, w testItem, opts ...pmapi.ItemOption) func() itemResult {
	if w.inst != "-" {
		opts = append(opts, pmapi.Instance(w.inst))
	}
	if w.scale != "-" {
		opts = append(opts, pmapi.Scale(w.scale))
	}
	switch w.typ {
	case pdu.Type32:
		return addItemAs(g, w, opts, func(v int32) any { return int64(v) })
	case pdu.TypeU32:
		return addItemAs(g, w, opts, func(v uint32) any { return int64(v) })
	case pdu.Type64:
		return addItemAs(g, w, opts, func(v int64) any { return v })
	case pdu.TypeU64:
		return addItemAs(g, w, opts, func(v uint64) any { return v })
	case pdu.TypeFloat:
		return addItemAs(g, w, opts, func(v float32) any { return float64(v) })
	case pdu.TypeDouble:
		return addItemAs(g, w, opts, func(v float64) any { return v })
	case pdu.TypeString:
		return addItemAs(g, w, opts, func(v string) any { return v })
	}
	return addItemAs(g, w, opts, func(v []byte) any { return v })
}

func addItemAs[T pdu.Scalar](g *pmapi.Group, w testItem, opts []pmapi.ItemOption, show func(T) any) func() itemResult {
	row := func(r resultRow, v T, err error) resultRow {
		if r.Status = pdu.FromError(err); err != nil {
			r.Time = "" // C has no time
			return r
		}
		r.Value = anyValue{show(v)}
		return r
	}
	switch w.kind {
	case "item":
		i := pmapi.Add[T](g, w.metric, opts...)
		return func() itemResult {
			v, err := i.Value()
			return itemResult{Rows: []resultRow{row(resultRow{}, v, err)}}
		}
	case "set":
		s := pmapi.AddSet[T](g, w.metric, opts...)
		return func() itemResult {
			f := itemResult{Status: pdu.FromError(s.Err())}
			for i := range s.Len() {
				inst, v, err := s.At(i)
				f.Rows = append(f.Rows, row(resultRow{Inst: int(inst.ID), Name: inst.Name}, v, err))
			}
			return f
		}
	}
	e := pmapi.AddEvents[T](g, w.metric, w.field, opts...)
	return func() itemResult {
		f := itemResult{Status: pdu.FromError(e.Err())}
		for i := range e.Len() {
			at, v, err := e.At(i)
			f.Rows = append(f.Rows, row(resultRow{Time: fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond())}, v, err))
		}
		return f
	}
}

// compare reports a result that differs from C's. With rough, values may differ: they are
// then compared by their presence.
func compare(t *testing.T, round string, w testItem, want, got itemResult, rough bool) {
	t.Helper()
	if rough {
		for _, rows := range [][]resultRow{want.Rows, got.Rows} {
			for i := range rows {
				rows[i].Value = anyValue{}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %v (-C +Go):\n%s", round, w, diff)
	}
}

// Equal compares numbers, in texts too, by all but their last digit.
func (s anyValue) Equal(other anyValue) bool {
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case float64:
			return v, true
		case string:
			f, err := strconv.ParseFloat(v, 64)
			return f, err == nil && strings.Contains(v, "e")
		}
		return 0, false
	}
	x, ok := number(s.V)
	y, also := number(other.V)
	if !ok || !also || math.IsNaN(x) || math.IsInf(x, 0) {
		return cmp.Equal(s.V, other.V, cmpopts.EquateNaNs())
	}
	return math.Abs(x-y) <= 1e-14*math.Max(math.Abs(x), math.Abs(y))
}

// A comparison is a group of package pmapi and one of the C library with the same items.
type comparison struct {
	c       *cGroup
	g       *pmapi.Group
	goItems map[testItem]func() itemResult
	refuse  map[testItem]pdu.Error
}

func newComparison(t *testing.T, host string, pc *pmapi.Context, env ...string) *comparison {
	t.Helper()
	return &comparison{newCGroup(t, host, env...), pc.Group(), map[testItem]func() itemResult{}, map[testItem]pdu.Error{}}
}

func (c *comparison) add(w testItem, opts ...pmapi.ItemOption) {
	c.c.t.Helper()
	if c.goItems[w] != nil {
		return
	}
	if code := c.c.add(w); code != 0 {
		c.refuse[w] = code
	}
	c.goItems[w] = addItem(c.g, w, opts...)
}

func never(testItem) bool { return false }

// fetch fetches both groups and compares the results. Items that rough selects need only have a
// value. alter changes C's result where package pmapi differs on purpose.
func (c *comparison) fetch(round string, rough func(testItem) bool, alter func(w testItem, want *itemResult, got itemResult)) {
	t := c.c.t
	t.Helper()
	status, theirs := c.c.fetch()
	_, err := c.g.Fetch(t.Context())
	if status < 0 || err != nil {
		t.Fatalf("%s: C %v, Go %v", round, status, err)
	}
	for w, show := range c.goItems {
		want, got := theirs[w], show()
		if code := c.refuse[w]; code != 0 {
			if code == pdu.ErrInst && got.refusal() != pdu.ErrInst {
				// C looks for the instance first, and only once. Here the instance may appear
				// later, so the type, the units and the agent do matter.
				if code = got.refusal(); code != pdu.ErrType && code != pdu.ErrConv && code != pdu.ErrNoAgent {
					t.Errorf("%s: %v: %v, want an error of the type, the units, the agent or the instance", round, w, code)
				}
			}
			if want.Status = code; w.kind == "item" {
				want = itemResult{Rows: []resultRow{{Status: code}}}
			}
		}
		if alter != nil {
			alter(w, &want, got)
		}
		// Where no value of a set becomes the type, the set says so here.
		if w.kind == "set" && want.Status == 0 && len(want.Rows) > 0 && !slices.ContainsFunc(want.Rows, func(r resultRow) bool {
			return r.Status != pdu.ErrType && r.Status != pdu.ErrConv && r.Status != pdu.ErrTrunc && r.Status != pdu.ErrSign
		}) {
			want.Status = want.Rows[0].Status
		}
		compare(t, round, w, want, got, rough(w))
	}
}

// Both libraries convert metrics of all kinds to all scales and types, at the same times.
func TestInteropGroupScales(t *testing.T) {
	s := newLoggedSource(false)
	metrics := []struct {
		name   string
		sem    pdu.Sem
		units  pdu.Units
		values [3]pdu.Atom
	}{
		{"c32", pdu.SemCounter, pdu.UnitCount, [3]pdu.Atom{pdu.Uint32(100), pdu.Uint32(4000000000), pdu.Uint32(3999999999)}},
		{"cs32", pdu.SemCounter, pdu.UnitCount, [3]pdu.Atom{pdu.Int32(-100), pdu.Int32(2000000000), pdu.Int32(-2000000000)}},
		{"c64", pdu.SemCounter, pdu.SpaceKByte, [3]pdu.Atom{pdu.Uint64(1 << 40), pdu.Uint64(1<<40 + 12345), pdu.Uint64(1 << 50)}},
		{"cms", pdu.SemCounter, pdu.TimeMSec, [3]pdu.Atom{pdu.Float64(12.5), pdu.Float64(700.25), pdu.Float64(700.25)}},
		{"kbytes_per_ms", pdu.SemCounter, pdu.SpaceKByte | pdu.PerMSec, [3]pdu.Atom{pdu.Float64(12.5), pdu.Float64(700.25), pdu.Float64(1e6)}},
		{"odd", pdu.SemCounter, pdu.MakeUnits(2, 2, 1, 1, 4, 3), [3]pdu.Atom{pdu.Float32(12.5), pdu.Float32(700.25), pdu.Float32(-1)}},
		{"negative", pdu.SemInstant, pdu.SpaceByte, [3]pdu.Atom{pdu.Float64(-12.5), pdu.Float64(-1e10), pdu.Float64(-0.5)}},
		{"big", pdu.SemInstant, pdu.SpaceByte, [3]pdu.Atom{pdu.Float64(1e300), pdu.Float64(-1e300), pdu.Float64(math.Inf(1))}},
		{"i64", pdu.SemInstant, pdu.NoUnits, [3]pdu.Atom{pdu.Int64(-5000000000), pdu.Int64(5000000000), pdu.Int64(1 << 40)}},
		{"u64", pdu.SemInstant, pdu.SpaceMByte, [3]pdu.Atom{pdu.Uint64(1<<63 + 5), pdu.Uint64(1<<64 - 1), pdu.Uint64(3)}},
		{"f32", pdu.SemDiscrete, pdu.UnitCount, [3]pdu.Atom{pdu.Float32(0.1), pdu.Float32(3.99), pdu.Float32(1e20)}},
		{"text", pdu.SemInstant, pdu.NoUnits, [3]pdu.Atom{pdu.String("12"), pdu.String("15"), pdu.String("6.0.3")}},
		{"ctext", pdu.SemCounter, pdu.UnitCount, [3]pdu.Atom{pdu.String("12"), pdu.String("15.5"), pdu.String("+16")}},
		{"data", pdu.SemInstant, pdu.UnitCount, [3]pdu.Atom{pdu.Aggregate([]byte{1}), pdu.Aggregate([]byte{2}), pdu.Aggregate([]byte{3})}},
	}
	var entered []*atoms
	for _, m := range metrics {
		entered = append(entered, s.add(m.name, pdu.Desc{Type: m.values[0].Type, Sem: m.sem, Units: m.units}, nil))
	}
	c := newComparison(t, listen(t, s.src), s.src.Context())
	for _, m := range metrics {
		for typ := range pdu.TypeString + 1 {
			for _, scale := range []string{
				"-", "", "rate", "instant", "count", "count/s", "count/min", "KB", "MB/hour", "byte/s", "byte/s/s", "byte/s^2", "s",
				"s/100s", "12 ms / s", "nonsense", "byte^2 s count", "byte^2 min^2 count", "byte^2 count sec^2",
				"byte^2 count x 10^2 sec", "count x 10^3", "1.5", "kb/sec/count",
			} {
				c.add(testItem{"item", m.name, "-", "", scale, typ})
			}
		}
	}
	t.Logf("%d combinations, of which C refuses %d", len(c.goItems), len(c.refuse))
	for round := range 3 {
		for i, m := range metrics {
			entered[i].Set(m.values[round])
		}
		c.fetch(strconv.Itoa(round), never, nil)
		s.src.Advance(2500 * time.Millisecond)
	}
	if err := c.g.Err(); !errors.Is(err, pdu.ErrConv) || !errors.Is(err, pdu.ErrType) {
		t.Error(err)
	}
}

// events makes an event array; with pdu.NoPMID it is empty.
func events(t *testing.T, highRes bool, id pdu.PMID) pdu.Atom {
	t.Helper()
	b := pdu.EventBuilder{HighRes: highRes}
	if id != pdu.NoPMID {
		b.Begin(time.Unix(1e9, 7000), pdu.EventStart|pdu.EventID)
		b.Param(id, pdu.Uint32(1<<31))
		b.Param(pdu.MakePMID(400, 9, 9), pdu.Uint32(1))
		b.Param(id, pdu.Uint32(1536))
		b.Missed(time.Unix(1e9, 8000), 3)
		b.Begin(time.Unix(1e9+1, 0), 0)
		b.Param(id, pdu.Uint32(7))
	}
	a, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Over several fetches instances come and go, counters wrap, discrete metrics keep their
// values, and errors occur.
func TestInteropGroupTime(t *testing.T) {
	for _, wrap := range []bool{false, true} {
		t.Run(fmt.Sprintf("wrap=%v", wrap), func(t *testing.T) {
			s := newGroupFixture(t, false)
			double := s.add("double", pdu.Desc{Type: pdu.TypeDouble, Sem: pdu.SemCounter}, nil)
			signed := s.add("signed", pdu.Desc{Type: pdu.Type32, Sem: pdu.SemCounter}, nil)
			field := s.add("field", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemCounter, Units: pdu.SpaceByte}, nil)
			single := s.add("single", pdu.Desc{Type: pdu.TypeEvent}, nil)
			queue := s.add("queue", pdu.Desc{Type: pdu.TypeHighResEvent}, s.disks)
			var env []string
			var opts []pmapi.ItemOption
			if wrap {
				env, opts = []string{"PCP_COUNTER_WRAP=1"}, []pmapi.ItemOption{pmapi.CounterWrap()}
			}
			c := newComparison(t, listen(t, s.src), s.c, env...)
			for typ := range pdu.TypeString + 1 {
				for _, m := range []string{"size", "state", "double", "signed"} {
					c.add(testItem{"item", m, "-", "", "-", typ}, opts...)
					c.add(testItem{"set", m, "-", "", "-", typ}, opts...)
				}
				for _, f := range []string{"field", "event.flags", "event.missed", "single", "nothing"} {
					for _, scale := range []string{"-", "instant", "rate", "Kbyte", "byte/s", ""} {
						c.add(testItem{"event", "single", "-", f, scale, typ}, opts...)
						c.add(testItem{"event", "queue", "sda", f, scale, typ}, opts...)
					}
				}
				c.add(testItem{"event", "queue", "-", "field", "-", typ})
				c.add(testItem{"event", "queue", "sdz", "field", "-", typ})
				c.add(testItem{"event", "single", "sda", "field", "-", typ})
				c.add(testItem{"event", "size", "-", "field", "-", typ})
				for _, m := range []string{"disk.reads", "disk.temp"} {
					c.add(testItem{"set", m, "-", "", "-", typ}, opts...)
					c.add(testItem{"set", m, "-", "", "rate", typ}, opts...)
					for _, i := range []string{"-", "sda", "sdb solid", "sdz"} {
						c.add(testItem{"item", m, i, "", "-", typ}, opts...)
					}
				}
			}
			double.Set(pdu.Float64(100))
			signed.Set(pdu.Int32(math.MaxInt32))
			const low, high = false, true
			single.Set(events(t, low, field.Desc().PMID))
			queue.Set(events(t, high, field.Desc().PMID), events(t, high, pdu.NoPMID))
			c.fetch("first", never, nil)
			if err := c.g.Err(); !errors.Is(err, pdu.ErrInst) || !errors.Is(err, pdu.ErrInDom) {
				t.Error(err)
			}
			for _, step := range []struct {
				name string
				set  func()
			}{
				{"more", func() {
					single.Set(events(t, low, pdu.NoPMID))
					queue.Set(events(t, high, pdu.NoPMID), events(t, high, pdu.NoPMID))
					s.size.Set(pdu.Uint64(3 << 20))
					setValues(s.reads, inst(2, pdu.Uint32(31)), inst(0, pdu.Uint32(14)), inst(1, pdu.Uint32(29)))
				}},
				{"less", func() {
					single.Set()
					setValues(queue, inst(1, events(t, high, pdu.NoPMID)))
					s.size.Set(pdu.Uint64(1 << 20))
					double.Set(pdu.Float64(99))
					signed.Set(pdu.Int32(math.MinInt32))
					s.reads.Set(pdu.Uint32(4), pdu.Uint32(30), pdu.Uint32(31))
				}},
				{"fewer", func() {
					queue.Fail(pdu.ErrNoAgent)
					single.Fail(pdu.ErrNoAgent)
					s.state.Set()
					setValues(s.reads, inst(1, pdu.Uint32(32)))
					setValues(s.temp, inst(0, pdu.Float64(7)), inst(2, pdu.Float64(9)))
				}},
				{"back", func() {
					s.reads.Set(pdu.Uint32(40), pdu.Uint32(40), pdu.Uint32(40))
					s.temp.Set(pdu.Float64(1), pdu.Float64(2), pdu.Float64(3))
				}},
				{"error", func() {
					s.state.Set(pdu.String("77"))
					s.size.Fail(pdu.ErrAppVersion)
					s.reads.Fail(pdu.ErrNoAgent)
				}},
				{"none", func() {
					s.size.Set()
					s.reads.Set()
				}},
				{"again", func() {
					s.size.Set(pdu.Uint64(2 << 20))
					s.reads.Set(pdu.Uint32(50), pdu.Uint32(50), pdu.Uint32(50))
				}},
				{"and again", func() {}},
			} {
				s.src.Advance(4 * time.Second)
				step.set()
				c.fetch(step.name, never, func(w testItem, want *itemResult, got itemResult) {
					// C wraps no floating point counters, but gives negative rates.
					if wrap && (w.metric == "double" && step.name == "less" || w.metric == "disk.temp" && w.scale == "rate" && step.name == "back") {
						for i, r := range want.Rows {
							if r.Status == 0 || r.Status == pdu.ErrSign {
								want.Rows[i] = resultRow{Status: pdu.ErrValue, Inst: r.Inst, Name: r.Name}
							}
						}
					}
					// A discrete metric keeps a value only if it had one.
					if w.kind == "item" && w.metric == "state" && want.Rows[0].Status == pdu.ErrType && (step.name == "fewer" || step.name == "back") {
						want.Rows[0].Status = pdu.ErrValue
					}
					// Without an earlier value, C returns the error of the earlier fetch, and
					// package pmapi that another sample is needed.
					for i, r := range want.Rows {
						if (step.name == "back" || step.name == "again") && i < len(got.Rows) && got.Rows[i].Status == pdu.ErrAgain &&
							(r.Status == pdu.ErrValue || r.Status == pdu.ErrNoAgent || r.Status == pdu.ErrAppVersion) {
							want.Rows[i].Status = pdu.ErrAgain
						}
					}
				})
			}
		})
	}
}

// Both libraries fetch the metrics of the sample agent under a C pmcd.
func TestInteropGroupSample(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	pc, err := pmapi.Dial(t.Context(), pmcd.Host())
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	names, err := pc.Traverse(t.Context(), "sample")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "pmcd.version", "sample", "sample.long", "no.such.metric")
	c := newComparison(t, pmcd.Host(), pc)
	for _, name := range names {
		if unequal.MatchString(name) {
			continue
		}
		for _, typ := range []pdu.Type{pdu.Type32, pdu.TypeU64, pdu.TypeDouble, pdu.TypeString} {
			for _, scale := range []string{"-", "instant", "rate", "", "Mbyte", "count / min", "hour"} {
				c.add(testItem{"set", name, "-", "", scale, typ})
				c.add(testItem{"item", name, "-", "", scale, typ})
			}
			for _, i := range []string{"bin-500", "red", "yellow or what"} {
				c.add(testItem{"item", name, i, "", "-", typ})
			}
			c.add(testItem{"event", name, "bogus", "sample.event.param_string", "-", typ})
		}
	}
	t.Logf("%d combinations, of which C refuses %d", len(c.goItems), len(c.refuse))
	if len(c.goItems)-len(c.refuse) < 1000 {
		t.Error("too few")
	}
	for _, round := range []string{"first", "second", "third"} {
		c.fetch(round, func(w testItem) bool { return moving.MatchString(w.metric) || w.scale == "rate" }, nil)
		time.Sleep(20 * time.Millisecond) // by the sample agent's clock
	}
	if err := c.g.Err(); !errors.Is(err, pdu.ErrName) || !errors.Is(err, pdu.ErrInst) {
		t.Errorf("no error for the items that C refuses: %v", err)
	}
}

var (
	// unequal matches metrics that change with each request, with each client or every 30 s, a
	// text that changes now and then, and an empty one, which is the number 0 in C.
	unequal = regexp.MustCompile(`^sample\.(mirage|.*wrap|string\.null|.*pdu|not_ready|error_c|percontext|dodgey|updown|hordes|event\.(highres_)?records|event\.no|ghosts|controller|noinst|scramble|k?byte_rate|drift|proc|step(_counter)?$|rapid|scale_step|(dupnames\.two\.)?lights)`)
	// moving matches metrics that change with time.
	moving = regexp.MustCompile(`^sample\.(dupnames\.[a-z]*\.)?(.*seconds|.*ctr|needprofile|load|sysinfo|magnitude|ulonglong\.bin|many|const|negative|darkness|colour)`)
)
