package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// derivedSource returns a source with a counter over disks and a number.
func derivedSource(t testing.TB) (*pmapitest.Source, *pmapi.Context) {
	start := time.Unix(1_000_000, 0)
	src := &pmapitest.Source{Start: start}
	disks := src.InDom("sda", "sdb")
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.reads", Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: disks,
		Value: func(now time.Time, i pdu.Instance) (uint64, error) {
			return uint64(i.ID+1) * 10 * uint64(now.Sub(start)/time.Second), nil
		}})
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "n"}).Set(3)
	c := src.Context()
	t.Cleanup(func() { c.Close() })
	return src, c
}

// TestDerive defines metrics for a context, and finds them in the same ways as other metrics.
func TestDerive(t *testing.T) {
	ctx := t.Context()
	_, c := derivedSource(t)
	for _, d := range [][2]string{{"disk.rate", "rate(disk.reads)"}, {"twice", "n * 2"}, {"open", "nosuch + 1"}} {
		if err := c.Derive(ctx, d[0], d[1]); err != nil { // PMIDs are in this order
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"twice":  "derive twice: derived metric twice: \"1\": Duplicate per-context derived metric name",
		"1x":     "derive 1x: derived metric 1x: \"1\" at byte 0: illegal derived metric name (1x)",
		"broken": "derive broken: derived metric broken: \"n +\" at byte 2: Arithmetic expression expected to follow PLUS",
		"empty":  "derive empty: derived metric empty: the expression is empty",
		"odd":    "derive odd: derived metric odd: \"2 * (disk.reads + n)\": in \"disk.reads + n\": Illegal operator for counter and non-counter",
	} {
		expr := map[string]string{"broken": "n +", "odd": "2 * (disk.reads + n)", "empty": ""}[name]
		if expr == "" && name != "empty" {
			expr = "1"
		}
		err := c.Derive(ctx, name, expr)
		if got := fmt.Sprint(errors.Unwrap(err)); !errors.Is(err, pdu.ErrBadDerive) || "derive "+name+": "+got != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := c.Derive(ctx, "odd", "n + nosuch"); err != nil {
		t.Errorf("what could not be defined cannot be defined otherwise: %v", err)
	}
	names, err := c.Traverse(ctx, "")
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"disk.rate", "disk.reads", "event.flags", "event.missed", "n", "twice"}) {
		t.Error(names, err)
	}
	children, err := c.Children(ctx, "disk")
	if err != nil || len(children) != 2 {
		t.Error(children, err)
	}
	ids, err := c.Lookup(ctx, []string{"disk.rate", "n", "twice", "open"})
	bulk, ok := errors.AsType[*pmapi.BulkError](err)
	if !ok || len(bulk.Unwrap()) != 1 || !errors.Is(pmapi.ErrorAt(err, 3), pdu.ErrName) {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*pmapi.DerivedError](err); !ok || e.Name != "open" || !strings.Contains(e.Message, "nosuch") {
		t.Errorf("%v does not say what open lacks", err)
	}
	ids[3] = pdu.MakePMID(511, 2047, pdu.MaxItem-2)
	if name, err := c.Name(ctx, ids[0]); name != "disk.rate" || err != nil {
		t.Error(name, err)
	}
	if _, err := c.Desc(ctx, ids[3]); !errors.Is(err, pdu.ErrBadDerive) {
		t.Error(err)
	}
	if _, err := c.Text(ctx, ids[0], pdu.TextOneLine); !errors.Is(err, pdu.ErrText) {
		t.Error(err)
	}
	if set, err := c.ItemLabels(ctx, ids[0]); len(set.Labels) != 0 || err != nil {
		t.Error(set, err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		t.Fatal(err)
	}
	if r.At(0).Len() != 0 || r.At(1).Atom(0, pdu.Type32).String() != "3" || r.At(2).Atom(0, pdu.TypeU32).String() != "6" || !errors.Is(r.At(3).Err(), pdu.ErrPMID) {
		t.Error(r.At(0).Len(), r.At(1).Atom(0, pdu.Type32), r.At(2).Atom(0, pdu.TypeU32), r.At(3).Err())
	}
}

// TestDerivedOfDialer loads definitions from a file. A metric of the source hides one of them.
func TestDerivedOfDialer(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "derived")
	text := "kernel.mine = kernel.all.load[1 minute] * 2\nkernel.mine(oneline) = \"twice\"\nsample.colour = 7\nonly = 7\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d := new(pmapi.Derived)
	if n, err := d.Load(file); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if err := d.Define("only", "8"); !errors.Is(err, pdu.ErrBadDerive) {
		t.Error(err)
	}
	c, err := pmapi.ArchiveOptions{Derived: d}.Open(ctx, "testdata/derive")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(ctx, []string{"kernel.mine", "sample.colour", "only"})
	if err != nil || ids[0] != pdu.MakePMID(511, 0, 3) || ids[1].Domain() == 511 || ids[2] != pdu.MakePMID(511, 0, 5) {
		t.Fatal(ids, err)
	}
	if text, err := c.Text(ctx, ids[0], pdu.TextHelp); text != "twice" || err != nil {
		t.Error(text, err)
	}
	dup, err := c.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	if again, err := dup.Lookup(ctx, []string{"kernel.mine"}); err != nil || again[0] != ids[0] {
		t.Error(again, err)
	}
	t.Setenv("PCP_DERIVED_CONFIG", file+":"+file+".none")
	d = new(pmapi.Derived)
	if err := d.LoadEnv(); !errors.Is(err, os.ErrNotExist) || d.Define("kernel.mine", "1") == nil {
		t.Error(err)
	}
}

// TestDerivedControl sets options, those of the environment before those of files.
func TestDerivedControl(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "derived")
	if err := os.WriteFile(file, []byte("#control CONTEXT_LIMIT=1,DEBUG_EVAL=1\nsum = sample.colour + nosuch\nif = nosuch > 1 ? nosuch : 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_DERIVED_CONFIG", file)
	t.Setenv("PCP_DERIVED_CONTROL", "OPTION_NOVALUE=1,DEBUG_EVAL=0,x=1")
	d := new(pmapi.Derived)
	err := d.LoadEnv()
	if want := `PCP_DERIVED_CONTROL: control of derived metrics "x=1": no such option`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	c, err := pmapi.ArchiveOptions{Derived: d}.Open(ctx, "testdata/derive")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Derive(ctx, "one", "nosuch"); err != nil {
		t.Fatal(err)
	}
	if err := c.Derive(ctx, "two", "1"); err == nil || !strings.Contains(err.Error(), "Too many per-context derived metrics") {
		t.Error(err)
	}
	ids, err := c.Lookup(ctx, []string{"sum", "if", "one"})
	if err != nil {
		t.Fatal(err)
	}
	descs, err := c.Descs(ctx, ids)
	if err != nil || descs[0].InDom == pdu.NoInDom || descs[2].Type != pdu.TypeU32 {
		t.Error(descs, err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		t.Fatal(err)
	}
	for i, s := range r.All() {
		if s.Err() != nil || s.Len() != 0 {
			t.Errorf("%d: %d values, %v", i, s.Len(), s.Err())
		}
	}
}

// TestDerivedNested has derived metrics that name others. They are refused, and their names are
// unknown. The error says which metric names which.
func TestDerivedNested(t *testing.T) {
	ctx := t.Context()
	d := new(pmapi.Derived)
	for _, def := range [][2]string{{"after", "base * 2"}, {"base", "n * 3"}, {"known", "defined(base) + defined(nosuch)"}, {"self", "self + 1"},
		{"ring", "round"}, {"round", "ring"}, {"of", "defined(self)"}} {
		if err := d.Define(def[0], def[1]); err != nil {
			t.Fatal(err)
		}
	}
	src := &pmapitest.Source{Derived: d}
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "n"}).Set(3)
	c := src.Context()
	defer c.Close()
	names, err := c.Traverse(ctx, "")
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"base", "event.flags", "event.missed", "known", "n"}) {
		t.Error(names, err)
	}
	for name, part := range map[string]string{"after": "base", "self": "self", "ring": "round"} {
		_, err := c.Lookup(ctx, []string{name})
		e, ok := errors.AsType[*pmapi.DerivedError](err)
		if !errors.Is(err, pdu.ErrName) || !ok || e.Name != name || e.Part != part || e.Message != "A derived metric cannot be an operand" {
			t.Errorf("%s: %v, want an error that names %s", name, err, part)
		}
		if err := c.Derive(ctx, "more", part+" + 1"); !errors.Is(err, pdu.ErrBadDerive) {
			t.Errorf("a derived metric of %s: %v", part, err)
		}
	}
	ids, err := c.Lookup(ctx, []string{"base", "known"})
	if err != nil {
		t.Fatal(err)
	}
	ids = slices.Insert(ids, 0, pdu.MakePMID(511, 0, 3)) // after
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(r.At(0).Err(), pdu.ErrPMID) || r.At(1).Atom(0, pdu.TypeU32).String() != "9" || r.At(2).Atom(0, pdu.TypeU32).String() != "1" {
		t.Error(r.At(0).Err(), r.At(1).Atom(0, pdu.TypeU32), r.At(2).Atom(0, pdu.TypeU32))
	}
}

// TestDerivedConstantDomain fetches a constant with instances, also from an archive, where the
// position moves on.
func TestDerivedConstantDomain(t *testing.T) {
	ctx := t.Context()
	src, c := derivedSource(t)
	if err := c.Derive(ctx, "each", "mkconst(7, meta=disk.reads, semantics=instant)"); err != nil {
		t.Fatal(err)
	}
	g := c.Group()
	each := pmapi.AddSet[uint64](g, "each")
	for range 2 {
		src.Advance(time.Second)
		if _, err := g.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		text := ""
		for i, v := range each.All() {
			text += fmt.Sprint(i.Name, "=", v, " ")
		}
		if text != "sda=7 sdb=7 " {
			t.Error(text)
		}
	}
	a, err := pmapi.Open(ctx, "testdata/derive")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Derive(ctx, "five", "5"); err != nil {
		t.Fatal(err)
	}
	ids, err := a.Lookup(ctx, []string{"five"})
	if err != nil {
		t.Fatal(err)
	}
	label, err := a.ArchiveLabel()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.SetMode(ctx, pmapi.ModeInterp, label.Start, time.Second); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		var r pdu.Result
		if err := a.Fetch(ctx, ids, &r); err != nil {
			t.Fatal(err)
		}
		if got := r.Time.Sub(label.Start); got != time.Duration(i)*time.Second || r.At(0).Len() != 1 {
			t.Errorf("fetch %d: %v", i, got)
		}
	}
}

// TestDerivedRefused checks that Refused is called for a metric that makes no sense when it is
// looked up, once for each context.
func TestDerivedRefused(t *testing.T) {
	ctx := t.Context()
	var refused []pmapi.DerivedError
	d := &pmapi.Derived{Refused: func(e *pmapi.DerivedError) { refused = append(refused, *e) }}
	for name, expr := range map[string]string{"bad": "(sample.colour + kernel.all.load) * 2", "missing": "nosuch + 1", "good": "sample.colour * 2"} {
		if err := d.Define(name, expr); err != nil {
			t.Fatal(err)
		}
	}
	c, err := pmapi.ArchiveOptions{Derived: d}.Open(ctx, "testdata/derive")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := pmapi.DerivedError{Name: "bad", Expr: "(sample.colour + kernel.all.load) * 2", Message: "Operands should have the same instance domain",
		Part: "sample.colour + kernel.all.load"}
	for n := 1; n <= 2; n++ {
		for range 2 {
			for _, name := range []string{"bad", "missing"} {
				if _, err := c.Lookup(ctx, []string{name}); !errors.Is(err, pdu.ErrName) || !errors.Is(err, pdu.ErrBadDerive) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if names, err := c.Traverse(ctx, ""); err != nil || slices.Contains(names, "bad") || slices.Contains(names, "missing") || !slices.Contains(names, "good") {
				t.Error(names, err)
			}
		}
		if len(refused) != n || refused[n-1] != want {
			t.Errorf("refused: %+v, want %+v, %d times", refused, want, n)
		}
		if c, err = c.Dup(ctx); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
}

// TestDerivedGroup reads a derived metric in a group, and across the loss of a connection: there is
// no rate at the first fetch after it.
func TestDerivedGroup(t *testing.T) {
	ctx := t.Context()
	src, c := derivedSource(t)
	if err := c.Derive(ctx, "disk.rate", "rate(disk.reads)"); err != nil {
		t.Fatal(err)
	}
	g := c.Group()
	rates := pmapi.AddSet[float64](g, "disk.rate")
	fetch := func() int {
		src.Advance(time.Second)
		if _, err := g.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, v := range rates.All() {
			if want := 10 * float64(i.ID+1); v != want {
				t.Errorf("%v: %v, want %v", i, v, want)
			}
			n++
		}
		return n
	}
	if a, b := fetch(), fetch(); a != 0 || b != 2 {
		t.Errorf("%d and %d rates", a, b)
	}
	if err := c.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if a, b := fetch(), fetch(); a != 0 || b != 2 {
		t.Errorf("%d and %d rates after a new connection", a, b)
	}
}

// TestDerivedStaysBound renames the operand of delta and names it back. delta then starts again,
// while rate, which is requested twice, continues.
func TestDerivedStaysBound(t *testing.T) {
	ctx := t.Context()
	src, c := derivedSource(t)
	other := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "other"})
	if err := c.Derive(ctx, "disk.rate", "rate(disk.reads)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Derive(ctx, "step", "delta(other)"); err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(ctx, []string{"disk.rate", "disk.rate", "step"})
	if err != nil {
		t.Fatal(err)
	}
	fetch := func() string {
		src.Advance(time.Second)
		var r pdu.Result
		if err := c.Fetch(ctx, ids, &r); err != nil {
			t.Fatal(err)
		}
		text := ""
		for i, s := range r.All() {
			typ := []pdu.Type{pdu.TypeDouble, pdu.TypeDouble, pdu.Type32}[i]
			for _, v := range s.All(typ) {
				f, err := pdu.As[float64](v)
				text += fmt.Sprint(f, err, " ")
			}
			text += "| "
		}
		return text
	}
	other.Set(5)
	first := fetch()
	other.Set(7)
	second := fetch()
	other.Rename("another")
	renamed := fetch()
	other.Rename("other")
	back := fetch() // the first value of delta again
	next := fetch()
	const rates = "10 <nil> 20 <nil> "
	for i, got := range []string{first, second, renamed, back, next} {
		all := rates + "| " + rates + "| "
		want := []string{"| | | ", all + "2 <nil> | ", all + "| ", all + "| ", all + "0 <nil> | "}[i]
		if got != want {
			t.Errorf("fetch %d: %q, want %q", i, got, want)
		}
	}
}

// TestDerivedAllocs fetches without an allocation.
func TestDerivedAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx := t.Context()
	_, c := derivedSource(t)
	if err := c.Derive(ctx, "d", "rate(disk.reads) * n + sum(disk.reads) / 2 - disk.reads[sda] * 0"); err == nil {
		t.Fatal("a counter is subtracted")
	}
	if err := c.Derive(ctx, "disk.rate", "matchinst(/sd/, disk.reads) * n > 1 ? avg(disk.reads) : max(disk.reads) + 0.5"); err == nil {
		t.Fatal("a counter is added")
	}
	if err := c.Derive(ctx, "disk.busy", "rescale(rate(disk.reads), \"count / min\") * n"); err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(ctx, []string{"disk.busy", "disk.reads", "n"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	fetch := func(ids ...pdu.PMID) func() {
		return func() {
			if err := c.Fetch(context.Background(), ids, &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	plain := testing.AllocsPerRun(100, fetch(ids[1], ids[2])) // the source of the test allocates
	if n := testing.AllocsPerRun(100, fetch(ids[0])); n > plain {
		t.Errorf("%v allocations, %v for the operands", n, plain)
	}
}
