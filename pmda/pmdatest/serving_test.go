package pmdatest_test

import (
	"log/slog"
	"testing"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// A server counts the calls of BeginServing, and those that have not ended.
type server struct {
	pmda.Handler
	began, serving *int
}

func (s server) BeginServing(*slog.Logger) (end func()) {
	*s.began++
	*s.serving++
	return func() { *s.serving-- }
}

func (server) WhenReady() <-chan struct{} {
	ready := make(chan struct{})
	close(ready)
	return ready
}

// TestServing checks that a Handler is served while it is used, and that after a restart the old
// Handler is not.
func TestServing(t *testing.T) {
	var began, serving int
	start := func() pmda.Handler {
		if serving != 0 {
			t.Errorf("an agent starts beside %d that are served", serving)
		}
		return server{newAgent(t), &began, &serving}
	}
	if err := pmdatest.Check(start(), pmdatest.Restart(start)); err != nil {
		t.Error(err)
	}
	if began != 2 || serving != 0 {
		t.Errorf("Check: %d times served, want 2 with the restart; still served by %d", began, serving)
	}
	pmdatest.Run(t, start())
	if began != 3 || serving != 0 {
		t.Errorf("Run: %d times served, want 1; still served by %d", began-2, serving)
	}
}
