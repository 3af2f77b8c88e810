package pmapitest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// warn is a monitor. It warns each second that the load is above a limit.
func warn(ctx context.Context, c *pmapi.Context, limit float64) error {
	g := c.Group()
	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
	for now, err := range g.Every(ctx, time.Second) {
		if err != nil && !errors.Is(err, pdu.ErrIPC) {
			return err
		}
		switch v, err := load.Value(); {
		case err != nil:
			fmt.Println(now.Format(time.TimeOnly), "no load:", pdu.FromError(err))
		case v > limit:
			fmt.Println(now.Format(time.TimeOnly), "load", v)
		}
	}
	return nil
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local)

// A test of a monitor. The load rises by one each second, for five seconds that take no time.
func Example() {
	src := &pmapitest.Source{Start: noon, End: noon.Add(5 * time.Second)}
	pmapitest.Add(src, pmapitest.Metric[float64]{
		Name: "kernel.all.load", InDom: src.InDom("1 minute", "5 minute", "15 minute"),
		Value: func(now time.Time, _ pdu.Instance) (float64, error) { return now.Sub(noon).Seconds(), nil },
	})
	fmt.Println(warn(context.Background(), src.Context(), 3))
	// Output:
	// 12:00:04 load 4
	// 12:00:05 load 5
	// <nil>
}

// Set gives values from a table, which a program reads as a rate.
func ExampleMetric_Set() {
	src := &pmapitest.Source{Start: noon}
	disks := src.InDom("sda", "sdb")
	reads := pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "disk.dev.read", InDom: disks, Sem: pdu.SemCounter, Units: pdu.UnitCount,
	})
	g := src.Context().Group()
	rates := pmapi.AddSet[float64](g, "disk.dev.read")
	for _, row := range [][]uint64{{100, 200}, {110, 250}, {130, 250}} {
		reads.Set(row...)
		if _, err := g.Fetch(context.Background()); err != nil {
			fmt.Println(err)
		}
		for disk, r := range rates.All() {
			fmt.Println(disk.Name, r)
		}
		src.Advance(10 * time.Second)
	}
	// Output:
	// sda 1
	// sdb 5
	// sda 2
	// sdb 0
}

// A metric fails, then every fetch. Then the connection breaks, and after it is restored the metric
// has another PMID.
func ExampleSource_Break() {
	src := &pmapitest.Source{Start: noon, AutoReconnect: true}
	size := pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "cache.size"})
	size.Set(7)
	g := src.Context().Group()
	item := pmapi.Add[uint32](g, "cache.size")
	fetch := func() {
		_, err := g.Fetch(context.Background())
		v, valueErr := item.Value()
		var gap *pmapi.Gap
		if errors.As(err, &gap) {
			fmt.Println("gap:", gap)
			return
		}
		fmt.Println(v, pdu.FromError(valueErr), "|", pdu.FromError(err))
	}
	fetch()
	size.Fail(pdu.ErrPMDANotReady)
	fetch()
	size.Fail(nil)
	src.FailFetch(pdu.ErrPermission)
	fetch()
	src.FailFetch(nil)
	src.Break(errors.New("reset by peer"))
	fetch()
	desc := size.Desc()
	desc.PMID++
	size.SetDesc(desc)
	src.Advance(3 * time.Second)
	src.Restore()
	fetch()
	fetch()
	// Output:
	// 7 No error | No error
	// 0 PMDA is not yet ready to respond to requests | No error
	// 0 Missing metric value(s) | No permission to perform requested operation
	// 0 Missing metric value(s) | IPC protocol failure
	// gap: no connection for 3s (reset by peer), names changed: 1, descriptors changed: 1
	// 7 No error | No error
}

// A function sees every request before it is served.
func ExampleSource_onRequest() {
	fetches := 0
	src := &pmapitest.Source{Start: noon, OnRequest: func(_ context.Context, r pmapitest.Request) error {
		fmt.Println(r.Method, r.Names)
		if r.Method == "Fetch" {
			if fetches++; fetches == 2 {
				return pdu.ErrTimeout
			}
		}
		return nil
	}}
	pmapitest.Add(src, pmapitest.Metric[string]{Name: "state"}).Set("idle")
	g := src.Context().Group()
	state := pmapi.Add[string](g, "state")
	for range 2 {
		_, err := g.Fetch(context.Background())
		v, _ := state.Value()
		fmt.Printf("%q %v\n", v, err)
	}
	// Output:
	// Lookup [state]
	// Descs []
	// Fetch []
	// "idle" <nil>
	// Fetch []
	// "" pmapi: fetch on pmapitest: Timeout waiting for a response from PMCD
}
