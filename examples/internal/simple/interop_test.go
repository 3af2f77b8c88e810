package simple_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestTranscript compares everything that dbpmda can ask of the agent with the answers of PCP's own.
func TestTranscript(t *testing.T) {
	pcptest.Need(t, "dbpmda", "gcc", "make")
	want := pcptest.RunScript(t, "simple", "")
	got := pcptest.RunScript(t, "simple", pcptest.Build(t, "./examples/simple"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
}
