package pmdalinux_test

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// fetcher makes a function that fetches our metrics whose names begin so, and the
// number of metrics.
func fetcher(t testing.TB, root string, prefixes ...string) (fetch func(), n int) {
	t.Helper()
	a, err := pmdalinux.New(pmdalinux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	var ids []pdu.PMID
	for name, id := range a.Namespace().All() {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				ids = append(ids, id)
				break
			}
		}
	}
	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
	var w pdu.ResultWriter
	return func() {
		w.Reset()
		if err := a.Fetch(t.Context(), r, ids, &w); err != nil {
			t.Fatal(err)
		}
	}, len(ids)
}

// steady checks that fetches of metrics allocate nothing.
func steady(t *testing.T, root string, prefixes ...string) {
	t.Helper()
	fetch, n := fetcher(t, root, prefixes...)
	if n == 0 {
		t.Fatalf("no metrics begin with %q", prefixes)
	}
	if a := testing.AllocsPerRun(20, fetch); a != 0 && !raceEnabled {
		t.Errorf("a fetch of %d metrics makes %v allocations, want none", n, a)
	}
}

// plant makes the tree of files, and returns its root.
func (f files) plant(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range f {
		write(t, root, name, text)
	}
	return root
}
