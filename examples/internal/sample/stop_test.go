package sample_test

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Storing -1 in control stops the agent when it has replied, and nothing else does.
func TestStop(t *testing.T) {
	stopped := 0
	a := newAgent(t, sample.Options{Stop: func() { stopped++ }})
	want := "> store 0 32 -2\n  stored\n> fetch 0\n  0.0: 0 -2\n"
	if got := play(t, a, "store 0 32 -2\nfetch 0"); got != want || stopped != 0 {
		t.Errorf("after -2 it was stopped %d times, and says\n%s", stopped, got)
	}
	if got, want := play(t, a, "store 0 32 -1"), "> store 0 32 -1\n  stored\n"; got != want || stopped != 1 {
		t.Errorf("after -1 it was stopped %d times, and says\n%s", stopped, got)
	}
}

// TestStopProgram ends the program, which replies to the store before.
func TestStopProgram(t *testing.T) {
	a := startAgent(t, pcptest.Build(t, "./examples/sample"))
	if got, want := play(t, a, "store 0 32 -1"), "> store 0 32 -1\n  stored\n"; got != want {
		t.Errorf("storing -1 says\n%s", got)
	}
	if d, err := a.Desc(t.Context(), &pmda.Request{Client: pmda.NewClient(0, 1)}, pdu.MakePMID(sample.Domain, 0, 0)); err == nil {
		t.Errorf("after storing -1 it describes %v", d.PMID)
	}
}
