package pmapitest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A monitor reads a replayed day, which passes at once, as if it were a live host.
func ExampleReplay() {
	ctx := context.Background()
	src, err := pmapitest.Replay(ctx, "../testdata/derive")
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	c := src.Context()
	mode, _, _ := c.Mode()
	fmt.Println(c.HostName(ctx), mode)
	g := c.Group()
	disks := pmapi.AddSet[float64](g, "sample.double.bin_ctr", pmapi.Scale("instant"))
	for now, err := range g.Every(ctx, 3*time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(now.UTC().Format(time.TimeOnly), disks.Len())
	}
	// Output:
	// vm live
	// 07:43:57 0
	// 07:44:00 9
	// 07:44:03 9
	// 07:44:06 0
}
