package pmda

import (
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// TestForgetGone checks that a name that is requested again is not among the first to be forgotten,
// and that the number of remembered names stays bounded.
func TestForgetGone(t *testing.T) {
	table := &cacheTable{exact: true}
	ask := func(now int64, names ...string) pdu.InstID {
		t.Helper()
		ids, err := table.nameIDs(names, now)
		if err != nil {
			t.Fatal(err)
		}
		return ids[0]
	}
	many := func(prefix string) (names []string) {
		for i := range maxGoneNames / 2 {
			names = append(names, prefix+strconv.Itoa(i))
		}
		return names
	}
	used, unused := ask(1, "used"), ask(1, "unused")
	ask(2, many("a")...)
	ask(3, "used")
	for i := range int64(4) {
		ask(4+2*i, many(strconv.Itoa(int(i)))...)
		if ask(5+2*i, "used") != used {
			t.Errorf("round %d: a name in use has another ID", i)
		}
		if table.inactive > maxGoneNames || len(table.entries) > 4*maxGoneNames {
			t.Errorf("round %d: %d names, %d entries", i, table.inactive, len(table.entries))
		}
	}
	if id := ask(20, "unused"); id == unused {
		t.Error("a name that was not asked for is remembered for ever")
	}
}
