package local_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// A local context reads the load of this computer without a collector.
func Example_load() {
	agent, err := pmdalinux.New(pmdalinux.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := local.Open(agent)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	g := c.Group()
	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
	if _, err := g.Fetch(context.Background()); err != nil {
		log.Fatal(err)
	}
	v, err := load.Value()
	fmt.Println(v >= 0, err)
	// Output: true <nil>
}
