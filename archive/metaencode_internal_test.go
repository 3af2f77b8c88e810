package archive

import (
	"slices"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// TestDeltaEntries checks that the entries of a delta are merged without being sorted, as C writers
// do.
func TestDeltaEntries(t *testing.T) {
	d := InDomRecord{Delta: true, Instances: []pdu.Instance{{ID: 4, Name: "a"}, {ID: 31, Name: "b"}, {ID: 2, Name: "c"}}, Deleted: []pdu.InstID{22, 31, 1}}
	want := []pdu.Instance{{ID: 4, Name: "a"}, {ID: 22, Name: deletedName}, {ID: 31, Name: "b"}, {ID: 2, Name: "c"}, {ID: 31, Name: deletedName}, {ID: 1, Name: deletedName}}
	if got := deltaEntries(&d); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
