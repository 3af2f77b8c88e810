package pmapi

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/derived"
)

// The cost of many derived metrics is in proportion to their number: in a list of names, in the
// order of an archive's tree, as children, and in a walk over all nodes.
func TestManyDerivedNames(t *testing.T) {
	const limit = 5 * time.Second // the squared number takes half a minute
	many := pcptest.AttackSize(50_000, 100_000)
	names := make([]string, many)
	o := new(derivedOverlay)
	for i := range names {
		names[i] = fmt.Sprintf("x.group%05d.metric", i)
		o.put(&derived.Definition{Name: names[i]}, pdu.PMID(i))
	}
	for what, n := range map[string]func() int{
		"addNames":    func() int { list, _ := addNames("", nil, nil, names); return len(list) },
		"insertNames": func() int { list, _ := insertNames("", nil, nil, names); return len(list) },
		"addChildren": func() int { list, _ := addChildren("x", nil, nil, names); return len(list) },
		"below": func() (n int) {
			for _, name := range names {
				n += len(o.below(name[:len("x.group00000")]))
			}
			return n
		},
	} {
		begin := time.Now()
		pcptest.Attack(t, func() {
			if got := n(); got != many {
				t.Errorf("%s: %d names, want %d", what, got, many)
			}
		}, nil)
		if took := time.Since(begin); took > limit {
			t.Errorf("%s took %v", what, took)
		}
	}
}

// A name goes after the names that have most components in common with it.
func TestInsertNames(t *testing.T) {
	names := []string{"a.b.c", "a.b.d", "a.e", "f"}
	got, err := insertNames("", names, nil, []string{"a.b.x", "f.g", "y.z", "a.b", "y.a", "a.e"})
	want := []string{"a.b.c", "a.b.d", "a.b.x", "a.b", "a.e", "f", "f.g", "y.z", "y.a"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// The metrics below a name come in the order of their definitions.
func TestBelow(t *testing.T) {
	o := new(derivedOverlay)
	for i, name := range []string{"a.z", "ab.c", "a.b.c", "a", "b"} {
		o.put(&derived.Definition{Name: name}, pdu.PMID(i))
	}
	for name, want := range map[string][]string{"a": {"a.z", "a.b.c", "a"}, "": {"a.z", "ab.c", "a.b.c", "a", "b"}, "a.b": {"a.b.c"}, "c": nil, "a.": nil} {
		var got []string
		for _, m := range o.below(name) {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("below %q: %v, want %v", name, got, want)
		}
	}
}
