package pdu_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

// TestSortInstances compares with a sort of pairs.
func TestSortInstances(t *testing.T) {
	types := map[pdu.PMID]pdu.Type{1: pdu.TypeU32, 2: pdu.TypeString}
	type pair struct {
		inst pdu.InstID
		text string
	}
	inst := rapid.OneOf(rapid.Int32Range(-2, 5), rapid.Int32())
	rapid.Check(t, func(t *rapid.T) {
		var w pdu.ResultWriter
		want := map[pdu.PMID][]pair{}
		for id, typ := range types {
			w.Begin(id)
			for i, n := range rapid.SliceOf(inst).Draw(t, "instances") {
				a := pdu.Uint32(uint32(i))
				if typ == pdu.TypeString {
					a = pdu.String(fmt.Sprint("value ", i))
				}
				w.Atom(pdu.InstID(n), a)
				want[id] = append(want[id], pair{pdu.InstID(n), a.String()})
			}
		}
		w.Begin(3)
		w.Fail(pdu.ErrPMID)
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		r.SortInstances()
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.All() {
			var got []pair
			for inst, a := range s.All(types[s.PMID]) {
				got = append(got, pair{inst, a.String()})
			}
			slices.SortStableFunc(want[s.PMID], func(a, b pair) int { return cmp.Compare(a.inst, b.inst) })
			if diff := gocmp.Diff(want[s.PMID], got, gocmp.AllowUnexported(pair{})); diff != "" {
				t.Fatalf("%v (-want +got)\n%s", s.PMID, diff)
			}
		}
	})
}

func TestSortInstancesAllocates(t *testing.T) {
	var w pdu.ResultWriter
	w.Begin(1)
	for i := range 500 {
		w.Uint64(pdu.InstID(i*7919%500), uint64(i))
	}
	body, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	if err != nil {
		t.Fatal(err)
	}
	r := pdu.Result{Format: pdu.FormatHighRes}
	n := testing.AllocsPerRun(100, func() {
		if err := r.Decode(body[pdu.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		r.SortInstances()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s := r.At(0); s.Inst(499) != 499 || s.Inst(0) != 0 {
		t.Errorf("instances %v to %v", s.Inst(0), s.Inst(499))
	}
}
