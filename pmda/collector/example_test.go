package collector_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A program hosts a collector with its agent, and reads the metrics in the same process. For other
// clients it also calls Serve with a listener.
func Example() {
	var requests atomic.Uint64
	shop := &pmda.Agent{Name: "shop", Domain: 400}
	pmda.Register(shop, pmda.Metric[uint64]{
		Name: "shop.requests", ID: pmda.Item(0, 0), Text: "Requests served", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			return requests.Load(), nil
		},
	})
	srv := &collector.Server{Hostname: "web1"}
	defer srv.Close()
	if err := srv.Add(shop); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	requests.Add(3)
	g := c.Group()
	served := pmapi.Add[uint64](g, "shop.requests", pmapi.Scale("instant")) // not its rate
	host := pmapi.Add[string](g, "pmcd.hostname")
	if _, err := g.Fetch(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(served.Value())
	fmt.Println(host.Value())
	// Output:
	// 3 <nil>
	// web1 <nil>
}
