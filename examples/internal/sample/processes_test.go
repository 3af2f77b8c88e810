package sample_test

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestProcessOrdinals has more processes than there are ordinals. They begin anew, without those
// that are in use.
func TestProcessOrdinals(t *testing.T) {
	a := newAgent(t, sample.Options{})
	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
	var w pdu.ResultWriter
	youngest, rounds := pdu.InstID(0), 0
	for fetch := 0; rounds < 3; fetch++ {
		w.Reset()
		if err := a.Fetch(t.Context(), r, []pdu.PMID{pdu.MakePMID(29, 0, 156)}, &w); err != nil {
			t.Fatal(err)
		}
		res, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		set := res.At(0)
		seen := map[pdu.InstID]bool{}
		for inst := range set.All(pdu.TypeU32) {
			if seen[inst] || inst < 1 || inst > 999 {
				t.Fatalf("fetch %d: instance %d", fetch, inst)
			}
			seen[inst] = true
		}
		if n := len(seen); n < 4 || n > 20 || !seen[1] || !seen[2] || !seen[3] || !seen[4] {
			t.Fatalf("fetch %d: instances %v", fetch, seen)
		}
		last := set.Inst(set.Len() - 1)
		if last < youngest && set.Len() > 4 && youngest > 900 {
			rounds++
		}
		youngest = last
		if fetch > 1e5 {
			t.Fatal("the ordinals do not begin anew")
		}
	}
}
