package pmdatest_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// newCache returns the agent under test.
func newCache(limit *atomic.Uint64) *pmda.Agent {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "cache.limit", Text: "Most entries that the cache may hold", Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			return limit.Load(), nil
		},
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v uint64) error {
			limit.Store(v)
			return nil
		},
	})
	return a
}

// Check tests the contract. A client in the same process tests the values.
func Example() {
	var limit atomic.Uint64
	fmt.Println("contract:", pmdatest.Check(newCache(&limit), pmdatest.Texts()))

	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(newCache(&limit)); err != nil {
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
	if err := c.Store(ctx, "cache.limit", 500); err != nil {
		fmt.Println(err)
	}
	g := c.Group()
	got := pmapi.Add[uint64](g, "cache.limit")
	if _, err := g.Fetch(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(got.Value())
	// Output:
	// contract: <nil>
	// 500 <nil>
}
