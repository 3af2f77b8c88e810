package pmapi_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

// A program for a collector reads an archive when Dial becomes Open: Every means the archive's time then.
func ExampleOpen() {
	ctx := context.Background()
	c, err := pmapi.Open(ctx, "../archive/testdata/v3")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	g := c.Group()
	bins := pmapi.Add[float64](g, "sample.bin", pmapi.Instance("bin-300"))
	million := pmapi.Add[float64](g, "sample.double.million")
	for now, err := range g.Every(ctx, 250*time.Millisecond) {
		if err != nil {
			log.Fatal(err)
		}
		b, err := bins.Value()
		if err != nil {
			continue // before the first record of the metric, or after a mark
		}
		m, _ := million.Value()
		fmt.Println(now.UTC().Format("15:04:05.000"), b, m)
	}
	// Output:
	// 00:57:08.946 300 1e+06
	// 00:57:09.196 300 1e+06
	// 00:57:09.446 300 1e+06
	// 00:57:09.696 300 1e+06
}
