package derived

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// TestDump: the tree of an expression when it is parsed, bound and computed, as the C library
// prints it.
func TestDump(t *testing.T) {
	e, err := Parse(`m[red] > 1 ? -2.5 : rescale(mkconst(3, units="byte", type="double"), "Kbyte")`)
	if err != nil {
		t.Fatal(err)
	}
	addresses := regexp.MustCompile(`0x[0-9a-f]+`)
	check := func(what, want string, dump func(w *strings.Builder)) {
		t.Helper()
		var b strings.Builder
		dump(&b)
		if diff := cmp.Diff(want, addresses.ReplaceAllString(b.String(), "@")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("parsed", `Derived metric expr dump from @...
expr node @ type=QUEST left=@ right=@ save_last=0
expr node @ type=GT left=@ right=@ save_last=0
expr node @ type=FILTERINST left=@ right=@ save_last=0
expr node @ type=PATTERN pattern: red type: exact match inst=-1
expr node @ type=NAME left=(nil) right=(nil) save_last=0 [m] primary=1
expr node @ type=INTEGER left=(nil) right=(nil) save_last=0 [1] primary=1
expr node @ type=COLON left=@ right=@ save_last=0
expr node @ type=NEG left=@ right=(nil) save_last=0
expr node @ type=DOUBLE left=(nil) right=(nil) save_last=0 [2.5] primary=1
expr node @ type=RESCALE left=@ right=@ save_last=0
expr node @ type=INTEGER left=(nil) right=(nil) save_last=0 [3] primary=1
expr node @ type=SCALE left=(nil) right=(nil) save_last=0 [Kbyte]
`, func(w *strings.Builder) { e.Dump(w) })

	if e, err = Parse("delta(m) / defined(m)"); err != nil {
		t.Fatal(err)
	}
	desc := pdu.Desc{PMID: pdu.MakePMID(1, 0, 2), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	p, err := e.Bind(func(string) (pdu.Desc, error) { return desc, nil })
	if err != nil {
		t.Fatal(err)
	}
	id := pdu.MakePMID(511, 0, 3)
	describe := func(d pdu.Desc) string { return "    " + d.Type.String() + "\n" }
	check("bound", `Derived metric expr dump from @...
expr node @ type=SLASH left=@ right=@ save_last=0
    PMID: PM_ID_NULL (511.0.3 from pmDesc) numval: 0
    DOUBLE
expr node @ type=DELTA left=@ right=(nil) save_last=0
    PMID: PM_ID_NULL (1.0.2 from pmDesc) numval: 0
    DOUBLE
expr node @ type=NAME left=(nil) right=(nil) save_last=1 [m] primary=0
    PMID: 1.0.2 (1.0.2 from pmDesc) numval: 0
    DOUBLE
expr node @ type=DEFINED left=(nil) right=(nil) save_last=0
    PMID: PM_ID_NULL (PM_ID_NULL from pmDesc) numval: 1
    U32
[0] inst=-1, val=1
`, func(w *strings.Builder) { p.Dump(w, id, false, describe) })

	for i, v := range []float64{1, 2500000} {
		var w pdu.ResultWriter
		w.Reset()
		w.Begin(desc.PMID)
		w.Atom(pdu.NoInst, pdu.AtomOf(v))
		b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
		if err != nil {
			t.Fatal(err)
		}
		r := pdu.Result{Format: pdu.FormatLowRes}
		if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		if err := p.Eval(t.Context(), Moment{Time: time.Unix(int64(i), 0)}, Sets{Values: &r, Places: []int{0}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	check("computed", `expr node @ type=SLASH left=@ right=@ save_last=0
    PMID: PM_ID_NULL (511.0.3 from pmDesc) numval: 1
    DOUBLE
[0] inst=-1, val=2.5e+06
expr node @ type=DELTA left=@ right=(nil) save_last=0
    PMID: PM_ID_NULL (1.0.2 from pmDesc) numval: 1
    DOUBLE
[0] inst=-1, val=2.5e+06
expr node @ type=NAME left=(nil) right=(nil) save_last=1 [m] primary=0
    PMID: 1.0.2 (1.0.2 from pmDesc) numval: 1
    DOUBLE
[0] inst=-1, val=2.5e+06
expr node @ type=DEFINED left=(nil) right=(nil) save_last=0
    PMID: PM_ID_NULL (PM_ID_NULL from pmDesc) numval: 1
    U32
[0] inst=-1, val=1
`, func(w *strings.Builder) { p.Dump(w, id, true, describe) })
}
