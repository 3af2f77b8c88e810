package pmapi_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestInteropFleet watches C collectors. It stops one for a while, and kills another.
func TestInteropFleet(t *testing.T) {
	var pmcds []*pcptest.PMCD
	f := &pmapi.Fleet[*pmapi.Item[int64]]{
		Items: func(g *pmapi.Group) *pmapi.Item[int64] {
			pmapi.Add[float64](g, "sample.seconds")
			return pmapi.Add[int64](g, "sample.long.ten")
		},
		Dialer: &pmapi.Dialer{RequestTimeout: time.Second, ConnectTimeout: time.Second, Backoff: []time.Duration{100 * time.Millisecond}},
	}
	for range 3 {
		p := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
		pmcds = append(pmcds, p)
		if err := f.Add(p.Addr()); err != nil {
			t.Fatal(err)
		}
	}
	signal := func(i int, s syscall.Signal) {
		if err := syscall.Kill(pmcds[i].PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	states := func(tick *pmapi.FleetTick[*pmapi.Item[int64]]) (s [3]pmapi.HostState) {
		for i, r := range tick.Rows {
			s[i] = r.Status.State
			if s[i] != pmapi.HostUp {
				continue
			}
			if v, err := r.Items.Value(); v != 10 || err != nil || r.Status.Missing != 0 {
				t.Errorf("host %d: %d, %v, %d items missing", i, v, err, r.Status.Missing)
			}
		}
		return s
	}
	// What is awaited, and done then.
	steps := []struct {
		want [3]pmapi.HostState
		do   func()
	}{
		{[3]pmapi.HostState{pmapi.HostUp, pmapi.HostUp, pmapi.HostUp}, func() { signal(1, syscall.SIGSTOP) }},
		{[3]pmapi.HostState{pmapi.HostUp, pmapi.HostLate, pmapi.HostUp}, func() { signal(2, syscall.SIGKILL) }},
		{[3]pmapi.HostState{pmapi.HostUp, pmapi.HostDown, pmapi.HostDown}, func() { signal(1, syscall.SIGCONT) }},
		{[3]pmapi.HostState{pmapi.HostUp, pmapi.HostUp, pmapi.HostDown}, func() {}},
	}
	ticks := 0
	for tick := range f.Every(t.Context(), 200*time.Millisecond) {
		if states(tick) == steps[0].want {
			steps[0].do()
			if steps = steps[1:]; len(steps) == 1 && pdu.FromError(tick.Rows[1].Status.Err) != pdu.ErrTimeout {
				t.Errorf("the collector that is stopped: %v", tick.Rows[1].Status)
			}
		}
		if len(steps) == 0 {
			if tick.Rows[1].Status.Reconnects != 1 {
				t.Errorf("after it was stopped: %+v", tick.Rows[1].Status)
			}
			break
		}
		if ticks++; ticks > 600 {
			t.Fatalf("%v, want %v", states(tick), steps[0].want)
		}
	}
}
