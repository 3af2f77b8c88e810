package pmapitest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// down is a monitor of a fleet. At each tick it prints the hosts that are not up.
func down(ctx context.Context, f *pmapi.Fleet[*pmapi.Item[float64]], ticks int) {
	for tick := range f.Every(ctx, 10*time.Millisecond) {
		for _, r := range tick.Rows {
			if s := r.Status; s.State != pmapi.HostUp {
				fmt.Println(r.Host, s.State, s.Err)
			} else if s.Missing > 0 {
				fmt.Println(r.Host, r.Err())
			}
		}
		if ticks--; ticks == 0 {
			break
		}
	}
}

// A test of a monitor has hosts that are down, and hosts without the monitored metric.
func ExampleFleet() {
	hosts := pmapitest.NewFleet(100, func(i int, src *pmapitest.Source) {
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load"}).Set(float64(i))
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "hinv.ncpu"}).Set(4)
	})
	hosts.Host("host3").Stop(errors.New("no route to host"))
	hosts.Host("host8").Restart(func(src *pmapitest.Source) {
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "hinv.ncpu"}).Set(8)
	})
	f := &pmapi.Fleet[*pmapi.Item[float64]]{
		Items: func(g *pmapi.Group) *pmapi.Item[float64] {
			pmapi.Add[float64](g, "hinv.ncpu")
			return pmapi.Add[float64](g, "kernel.all.load")
		},
		Wait: time.Minute,
	}
	if err := hosts.AddTo(f); err != nil {
		fmt.Println(err)
	}
	down(context.Background(), f, 1)
	hosts.Host("host3").Start()
	fmt.Println("started")
	down(context.Background(), f, 1)
	// Output:
	// host3 down pmapi: dial on host3: no route to host
	// host8 pmapi: lookup "kernel.all.load" on host8: Unknown metric name
	// started
	// host8 pmapi: lookup "kernel.all.load" on host8: Unknown metric name
}

// fleetSeen lists the value of a context and the error after each step of TestFleet.
var fleetSeen = []string{
	"0 <nil>", "1 <nil>",
	"0 pmapi: fetch on host2: IPC protocol failure: the collector is stopped",
	"0 pmapi: dial on host2: the collector is stopped",
	"0 pmapi: lookup \"n\" on host2: IPC protocol failure: the collector is stopped",
	"0 <nil>", "1 <nil>",
	"0 pmapi: fetch on host2: IPC protocol failure: the collector is stopped",
	"0 <nil>", "9 <nil>",
	"0 pmapi: fetch on host2: Timeout waiting for a response from PMCD",
	"0 pmapi: dial on host2: Timeout waiting for a response from PMCD",
	"9 <nil>", "9 <nil>",
}

// TestFleet: contexts see what a test does to their host.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := pmapitest.NewFleet(3, func(i int, src *pmapitest.Source) {
			pmapitest.Add(src, pmapitest.Metric[float64]{Name: "n"}).Set(float64(i))
		})
		h := hosts.Host("host2")
		if h != hosts.Hosts()[1] || h.Name() != "host2" {
			t.Error("another host")
		}
		ctx := t.Context()
		var c *pmapi.Context
		var n *pmapi.Item[float64]
		var g *pmapi.Group
		open := func() (err error) {
			if c, err = h.Open(ctx); err == nil {
				g = c.Group()
				n = pmapi.Add[float64](g, "n")
			}
			return err
		}
		var got []string
		say := func(err error) {
			v := 0.
			if n != nil {
				v, _ = n.Value()
			}
			got = append(got, fmt.Sprint(v, " ", err))
		}
		fetch := func() {
			_, err := g.Fetch(ctx)
			say(err)
		}
		say(open())
		fetch()
		h.Stop(nil)
		fetch()
		say(open())
		h.Start()
		fetch()
		say(open())
		fetch()
		h.Restart(func(src *pmapitest.Source) { pmapitest.Add(src, pmapitest.Metric[float64]{Name: "n"}).Set(9) })
		fetch()
		say(open())
		fetch()
		h.Hang()
		h.Hang()
		began := time.Now()
		fetch()
		say(open())
		if d := time.Since(began); d != 15*time.Second {
			t.Errorf("a request and a connection have failed after %v", d)
		}
		time.AfterFunc(time.Second, h.Resume)
		began = time.Now()
		fetch()
		h.SetDelay(2 * time.Second)
		fetch()
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("two slow requests have taken %v", d)
		}
		if diff := cmp.Diff(fleetSeen, got); diff != "" {
			t.Errorf("what the contexts see (-want +got):\n%s", diff)
		}
		defer func() {
			if recover() == nil {
				t.Error("there is a host4")
			}
		}()
		hosts.Host("host4")
	})
}
