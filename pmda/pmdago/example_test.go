package pmdago_test

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
)

// A service embeds a collector with the agent. With srv.Serve and a listener, every PCP client can
// connect; here the client is in the same process.
func Example() {
	srv := &collector.Server{}
	srv.Add(pmdago.New(pmdago.Options{}))
	defer srv.Close()

	ctx := context.Background()
	pc, err := pmapi.Local(ctx, srv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pc.Close()
	g := pc.Group()
	goroutines := pmapi.Add[uint64](g, "go.goroutines")
	live := pmapi.Add[uint64](g, "go.gc.heap.live_bytes", pmapi.Scale("Mbyte"))
	if _, err := g.Fetch(ctx); err != nil {
		fmt.Println(err)
		return
	}
	n, err := goroutines.Value()
	fmt.Println("goroutines:", n > 0, err)
	mb, err := live.Value()
	fmt.Println("live heap below 1 GB:", mb < 1024, err)
	// Output:
	// goroutines: true <nil>
	// live heap below 1 GB: true <nil>
}
