package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// writeTypes writes an archive with values of all types. As few values as possible fit into other
// types.
func writeTypes(t *testing.T, base string, version int) {
	t.Helper()
	w, err := archive.WriterOptions{Label: archive.Label{Version: version, PID: 42, Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	many := pdu.MakeInDom(60, 7)
	other := pdu.MakeInDom(60, 8)
	id := func(item int) pdu.PMID { return pdu.MakePMID(60, 0, item) }
	start := time.Unix(1_700_000_000, 123456000)
	for i, m := range []struct {
		name  string
		t     pdu.Type
		indom pdu.InDom
	}{{"v.i32", pdu.Type32, many}, {"v.u32", pdu.TypeU32, pdu.NoInDom}, {"v.i64", pdu.Type64, many}, {"v.u64", pdu.TypeU64, many}, {"v.float", pdu.TypeFloat, many},
		{"v.double", pdu.TypeDouble, many}, {"v.string", pdu.TypeString, many}, {"v.aggregate", pdu.TypeAggregate, many}, {"v.none", pdu.Type64, many}, {"v.error", pdu.Type64, many}, {"v.late", pdu.Type32, other}, {"v.later", pdu.Type32, other},
		{"v.static", pdu.TypeAggregateStatic, pdu.NoInDom}, {"v.event", pdu.TypeEvent, pdu.NoInDom}} {
		names := []string{m.name}
		if m.name == "v.u32" {
			names = append(names, "w.u32")
		}
		check(w.WriteMetric(archive.Metric{Desc: pdu.Desc{PMID: id(i + 1), Type: m.t, InDom: m.indom, Sem: pdu.SemInstant, Units: pdu.MakeUnits(1, 0, 0, 1, 0, 0)}, Names: names}))
	}
	first := pdu.ResultWriter{Time: start.Add(-time.Second)}
	first.Begin(id(9))
	check(w.WriteSets(&first))
	_, err = w.UpdateInDom(start, many, []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two three"}, {ID: 300000, Name: "far"}})
	check(err)
	_, err = w.UpdateInDom(start, other, []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}})
	check(err)
	for n := range 2 {
		s := pdu.ResultWriter{Time: start.Add(time.Duration(n) * 1500 * time.Millisecond)}
		put := func(item int, atoms ...pdu.Atom) {
			s.Begin(id(item))
			for i, a := range atoms {
				inst := []pdu.InstID{1, 2, 300000}[i]
				if item == 2 {
					inst = pdu.NoInst
				}
				s.Atom(inst, a)
			}
		}
		put(1, pdu.Int32(-5), pdu.Int32(math.MaxInt32))
		put(2, pdu.Uint32(math.MaxUint32))
		put(3, pdu.Int64(7), pdu.Int64(-1<<40), pdu.Int64(1<<40))
		put(4, pdu.Uint64(1<<40), pdu.Uint64(math.MaxUint64))
		put(5, pdu.Float32(1e30), pdu.Float32(-2.5), pdu.Float32(float32(math.NaN())))
		put(6, pdu.Float64(1e300), pdu.Float64(-2.5), pdu.Float64(math.Inf(1)))
		put(7, pdu.String("text"), pdu.String("12"), pdu.String("a longer text with \t and \xff and much more than what is shown of it in a line"))
		put(8, pdu.Aggregate([]byte{1, 2, 3}), pdu.Aggregate([]byte("abcdefgh")), pdu.Aggregate([]byte("more than a dozen bytes of it")))
		put(9)
		s.Begin(id(10))
		s.Fail(pdu.ErrAgain)
		if n == 0 {
			put(11, pdu.Int32(1), pdu.Int32(2))
		} else {
			put(11, pdu.Int32(1), pdu.Int32(2), pdu.Int32(-3))
			put(12, pdu.Int32(1), pdu.Int32(2), pdu.Int32(-3))
			_, err = w.UpdateInDom(s.Time, other, []pdu.Instance{{ID: 1, Name: "uno"}, {ID: 300000, Name: "late"}})
			check(err)
		}
		s.Begin(id(13))
		s.Bytes(pdu.TypeAggregateStatic, pdu.NoInst, []byte("static"))
		s.Begin(id(14))
		s.Bytes(pdu.TypeEvent, pdu.NoInst, []byte{0, 0, 0, 0})
		check(w.WriteSets(&s))
	}
	check(w.Close())
}

// failing are rules that convert values to what cannot hold them.
var failing = []string{
	"metric v.i32 { type -> U32 }", "metric v.i32 { type -> U64 }", "metric v.u32 { type -> 32 }", "metric v.i64 { type -> U64 }", "metric v.u64 { type -> 64 }",
	"metric v.float { type -> 32 }", "metric v.float { type -> U32 }", "metric v.float { type -> 64 }", "metric v.float { type -> U64 }",
	"metric v.double { type -> 32 }", "metric v.double { type -> U32 }", "metric v.double { type -> 64 }", "metric v.double { type -> U64 }",
	"metric v.late { type -> U32 }", "metric v.later { type -> U32 }", "metric v.later { type -> U32 } metric v.late { type -> 64 }",
	"metric v.string { units -> 1,0,0,BYTE,0,0 rescale }", "metric v.aggregate { units -> 1,0,0,BYTE,0,0 rescale }",
	"metric v.u64 { type -> 64 units -> 1,0,0,BYTE,0,0 rescale }", "metric v.i64 { type -> U64 } metric v.i32 { indom -> null output min }",
	"metric v.u32 { type -> 32 pmid -> 60.0.99 name -> foo indom -> 60.7 output inst 17 }", "global { time -> 1.5 } metric v.u32 { type -> 32 pmid -> 60.0.99 }",
	toDouble + "metric v.i32 { type -> 64 } metric v.u32 { type -> double } metric v.i64 { type -> float } metric v.u64 { type -> double } metric v.float { type -> double }",
	toDouble + "metric v.i32 { pmid -> 60.0.20 } metric v.u32 { name -> v.new } metric v.i64 { pmid -> 61.0.7 type -> double }",
	toDouble + "metric v.u64 { units -> 1,0,0,BYTE,0,0 rescale } metric v.float { units -> 1,0,0,BYTE,0,0 rescale }",
	toDouble + "indom 60.7 { inst 2 -> 5 inst 300000 -> delete iname \"one\" -> \"eins\" } metric v.u64 { type -> double }",
	toDouble + "metric v.i32 { indom -> null output max } metric v.u32 { indom -> 60.7 } metric v.float { indom -> null type -> double } metric v.i64 { delete }",
	"metric 60.0.13 { units -> 1,0,0,BYTE,0,0 rescale }", "metric 60.0.14 { units -> 1,0,0,BYTE,0,0 rescale }",
	"indom 60.7 { indom -> 61.9 inst 2 -> 5 } metric v.i32 { type -> U32 } metric v.u32 { delete } metric v.i64 { pmid -> 61.0.1 } metric v.float { type -> 64 }",
}

// toDouble fails after all numbers.
const toDouble = "metric v.double { type -> 32 } "

// TestInteropFailingConversions compares the messages about values that do not fit and about their
// data record.
func TestInteropFailingConversions(t *testing.T) {
	c, ours := programs(t)
	in := t.TempDir()
	writeTypes(t, filepath.Join(in, "v2"), 2)
	writeTypes(t, filepath.Join(in, "v3"), 3)
	for i, text := range failing {
		if !*all && i%4 != 0 {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "rules"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		name := []string{"v2", "v3"}[i%2]
		want, got := runBoth(t, dir, c, ours, []string{"-c", "rules", filepath.Join(in, name), "out"})
		want.Stderr, got.Stderr = withoutAddress(want.Stderr), withoutAddress(got.Stderr)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-PCP +ours)\n%s", name, text, diff)
		}
		if got.Status != 1 || !strings.Contains(got.Stderr, "\n__pmResult dump from 0x") {
			t.Errorf("%s: status %d, %s", text, got.Status, got.Stderr)
		}
	}
}
