package pmdaproc_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropMetadata: the metrics are those of the C agent, with the same PMIDs, types, instance
// domains, semantics and units.
func TestInteropMetadata(t *testing.T) {
	pcptest.Need(t, "pmcd")
	c, our := cAgent(t, ""), ourAgent(t, "/")
	for _, top := range []string{"proc"} {
		want := c.names(top)
		if len(want) < 100 {
			t.Fatalf("C's agent has %d metrics below %s", len(want), top)
		}
		got := our.names(top)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics below %s (-C +ours)\n%s", top, diff)
		}
		both := slices.DeleteFunc(want, func(name string) bool { _, is := slices.BinarySearch(got, name); return !is })
		if diff := cmp.Diff(c.descs(both), our.descs(both)); diff != "" {
			t.Errorf("descriptors below %s (-C +ours)\n%s", top, diff)
		}
	}
}
