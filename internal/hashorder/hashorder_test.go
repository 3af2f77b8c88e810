package hashorder

import (
	"slices"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// TestOf has metrics of PCP's test archive ok-foo in the order of its file, and in that of
// pmdumplog -d.
func TestOf(t *testing.T) {
	id := pdu.MakePMID
	keys := []pdu.PMID{id(2, 3, 3), id(2, 3, 0), id(2, 3, 2), id(29, 0, 46), id(29, 0, 7), id(29, 0, 6), id(29, 0, 5), id(29, 0, 2)}
	want := []pdu.PMID{id(29, 0, 46), id(29, 0, 5), id(2, 3, 0), id(29, 0, 6), id(29, 0, 7), id(29, 0, 2), id(2, 3, 2), id(2, 3, 3)}
	var got []pdu.PMID
	for _, i := range Of(keys) {
		got = append(got, keys[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if Of[pdu.PMID](nil) == nil {
		t.Error("no order of nothing")
	}
}
