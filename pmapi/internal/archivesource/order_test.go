package archivesource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// TestOrderOfValues has what libpcp 6.0.3 does with such domains; TestInteropArchiveRequests of
// pmapi compares orders, too.
func TestOrderOfValues(t *testing.T) {
	for _, test := range []struct {
		name    string
		ids     []pdu.InstID
		present []int // the last state that has each
		want    []pdu.InstID
	}{
		{"none", nil, nil, []pdu.InstID{}},
		{"in order", []pdu.InstID{0, 1, 2}, []int{1, 1, 1}, []pdu.InstID{0, 1, 2}},
		{"one missing", []pdu.InstID{0, 1, 2, 3, 4, 5, 6, 8}, []int{9, 9, 9, 9, 9, 9, 9, 9}, []pdu.InstID{8, 0, 1, 2, 3, 4, 5, 6}},
		{"far", []pdu.InstID{1000, 1007, 1014}, []int{1, 1, 1}, []pdu.InstID{1014, 1000, 1007}},
		{"one row", []pdu.InstID{0, 10, 20, 30, 40}, []int{1, 1, 1, 1, 1}, []pdu.InstID{40, 30, 20, 10, 0}},
		{"rows of two", []pdu.InstID{1, 3, 5, 7, 12, 17}, []int{1, 1, 1, 1, 1, 1}, []pdu.InstID{12, 7, 1, 3, 17, 5}},
		{"gone ones are put last", []pdu.InstID{0, 2, 4, 6}, []int{1, 3, 3, 2}, []pdu.InstID{0, 4, 6, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			insts := make([]instanceState, len(test.ids))
			for n, id := range test.ids {
				insts[n].id = id
			}
			got := []pdu.InstID{}
			for _, n := range orderOfValues(insts, test.present) {
				got = append(got, insts[n].id)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
