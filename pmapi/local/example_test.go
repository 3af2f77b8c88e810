package local_test

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda"
)

// A program reads its own agent.
func Example() {
	agent := &pmda.Agent{Name: "cache", Domain: 400}
	shards := agent.AddInDom("shard", "red", "blue")
	pmda.Register(agent, pmda.Metric[float64]{
		Name: "cache.load", InDom: shards,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float64, error) {
			return float64(len(i.Name)) / 4, nil
		},
	})

	pc, err := local.Open(agent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pc.Close()
	g := pc.Group()
	load := pmapi.AddSet[float64](g, "cache.load")
	if _, err := g.Fetch(context.Background()); err != nil {
		fmt.Println(err)
	}
	for inst, v := range load.All() {
		fmt.Println(inst.Name, v)
	}
	// Output:
	// red 0.75
	// blue 1
}
