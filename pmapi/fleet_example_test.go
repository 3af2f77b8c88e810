package pmapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A program prints the hosts with the highest load, and those that are not up. Its hosts are made
// up; f.Add("web1", "web2") adds real ones.
func ExampleFleet() {
	hosts := pmapitest.NewFleet(100, func(i int, src *pmapitest.Source) {
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load", InDom: src.InDom("1 minute")}).Set(float64(i % 60))
	})
	hosts.Host("host42").Stop(errors.New("out of memory"))

	type items struct{ load *pmapi.Item[float64] }
	f := &pmapi.Fleet[items]{
		Items: func(g *pmapi.Group) items {
			return items{pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))}
		},
		Wait: time.Minute, // for a test; 0 is half of the interval
	}
	if err := hosts.AddTo(f); err != nil {
		log.Fatal(err)
	}
	for tick := range f.Every(context.Background(), time.Second) {
		load := func(r *pmapi.FleetRow[items]) float64 {
			v, _ := r.Items.load.Value() // 0 without a value
			return v
		}
		hottest := slices.SortedFunc(tick.Up(), func(a, b *pmapi.FleetRow[items]) int { return cmp.Compare(load(b), load(a)) })
		for i, r := range hottest[:3] {
			fmt.Println(i+1, r.Host, load(r))
		}
		for _, r := range tick.Rows {
			if r.Status.State != pmapi.HostUp {
				fmt.Println(r.Host, r.Status.State, r.Status.Err)
			}
		}
		break
	}
	// Output:
	// 1 host60 59
	// 2 host59 58
	// 3 host58 57
	// host42 down pmapi: dial on host42: out of memory
}
