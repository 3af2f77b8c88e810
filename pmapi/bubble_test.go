package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
)

// A collector, its agents and their clients work in one bubble of testing/synctest, where time
// passes only while all of them wait: pauses, slow agents and time-outs take no time, and Close
// leaves nothing behind.
func TestCollectorInBubble(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := &pmda.Agent{Name: "clock", Domain: 420}
		jobs := a.AddInDom("job", "idle")
		var takes atomic.Int64 // how long the slow metric takes
		err := errors.Join(
			pmda.Register(a, pmda.Metric[uint64]{
				Name: "clock.uptime", Sem: pdu.SemCounter, Units: pdu.TimeMSec,
				Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
					return uint64(time.Since(start).Milliseconds() / 2), nil
				},
			}),
			pmda.Register(a, pmda.Metric[string]{
				Name: "clock.job", InDom: jobs,
				Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) { return "is " + i.Name, nil },
			}),
			pmda.Register(a, pmda.Metric[float64]{
				Name: "clock.slow",
				Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) {
					d := time.Duration(takes.Load())
					time.Sleep(d)
					return d.Seconds(), nil
				},
			}),
		)
		if err != nil {
			t.Fatal(err)
		}
		srv := &collector.Server{}
		if err := errors.Join(srv.Add(a), srv.Add(pmdago.New(pmdago.Options{}))); err != nil {
			t.Fatal(err)
		}
		serving, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- srv.Serve(serving) }()
		d := pmapi.Dialer{AutoReconnect: true, RequestTimeout: time.Minute}
		c, err := d.Local(t.Context(), srv)
		if err != nil {
			t.Fatal(err)
		}
		g := c.Group()
		used := pmapi.Add[float64](g, "clock.uptime", pmapi.Scale("%"))
		job := pmapi.Add[string](g, "clock.job", pmapi.Instance("backup"))
		slow := pmapi.Add[float64](g, "clock.slow")
		agents := pmapi.AddSet[uint32](g, "pmcd.agent.status")
		threads := pmapi.Add[uint64](g, "go.goroutines")
		time.AfterFunc(1500*time.Millisecond, func() { jobs.SetNames("idle", "backup") })
		time.AfterFunc(3500*time.Millisecond, func() { takes.Store(int64(100 * time.Millisecond)) })
		time.AfterFunc(4500*time.Millisecond, func() { takes.Store(int64(time.Hour)) })

		var got []string
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		for now, err := range g.Every(ctx, time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			u, usedErr := used.Value()
			j, jobErr := job.Value()
			s, slowErr := slow.Value()
			got = append(got, fmt.Sprintf("%v %.0f %v %q %v %v %v", now.Sub(start).Round(time.Millisecond), u, pdu.FromError(usedErr) == 0, j, pdu.FromError(jobErr) == 0, s, pdu.FromError(slowErr)))
			if n, err := threads.Value(); n == 0 || err != nil || agents.Len() < 2 {
				t.Error(n, err, agents.Len())
			}
		}
		if diff := cmp.Diff([]string{
			`0s 0 false "" false 0 No error`,
			`1s 50 true "" false 0 No error`,
			`2s 50 true "is backup" true 0 No error`,
			`3s 50 true "is backup" true 0 No error`,
			`4.1s 45 true "is backup" true 0.1 No error`, // the milliseconds are those at 4 s
			// The fetch at 5 s waits for the agent until ctx ends.
		}, got); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
		c.Close()
		stop()
		if err := <-served; err == nil || !strings.Contains(err.Error(), `"clock": it has not returned`) {
			t.Errorf("Serve: %v, want an error about the agent that sleeps", err)
		}
		srv.Close()
		time.Sleep(2 * time.Hour)
	})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
