package collector_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestBackground checks that an agent's background work starts when the first Server adds the
// agent, and has ended when the last one has removed it or is closed.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &pmda.Agent{Name: "a", Domain: 251}
		var runs, running atomic.Int32
		a.Background(func(ctx context.Context) {
			runs.Add(1)
			running.Add(1)
			<-ctx.Done()
			running.Add(-1)
		})
		check := func(what string, wantRuns, wantRunning int32) {
			t.Helper()
			if runs.Load() != wantRuns || running.Load() != wantRunning {
				t.Errorf("%s: %d runs, %d running, want %d, %d", what, runs.Load(), running.Load(), wantRuns, wantRunning)
			}
		}
		first, second := new(collector.Server), new(collector.Server)
		collectortest.Add(t, first, a)
		collectortest.Add(t, second, pmda.Serial(a))
		synctest.Wait()
		check("with two servers", 1, 1)
		if err := second.Add(a); err == nil {
			t.Error("a Server takes an agent twice")
		}
		if err := first.Remove(251); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		check("removed from the first", 1, 1)
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		check("after the second is closed", 1, 0)
		collectortest.Add(t, first, a)
		synctest.Wait()
		check("added again", 2, 1)
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		check("after the first is closed", 2, 0)
		if err := first.Add(a); err == nil {
			t.Error("a Server takes an agent after its end")
		}
		if synctest.Wait(); running.Load() != 0 {
			t.Error("what was refused runs")
		}
	})
}
