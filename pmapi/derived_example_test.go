package pmapi_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// Derive defines a derived metric for one context. A group reads it like any other metric.
func ExampleContext_Derive() {
	ctx := context.Background()
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	src := &pmapitest.Source{Start: start, End: start.Add(3 * time.Second)}
	disks := src.InDom("sda", "sdb")
	pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "disk.dev.read_bytes", Sem: pdu.SemCounter, Units: pdu.SpaceByte, InDom: disks,
		Value: func(now time.Time, i pdu.Instance) (uint64, error) {
			return uint64(now.Sub(start)/time.Second) * uint64(i.ID+1) << 20, nil
		},
	})
	c := src.Context()
	defer c.Close()

	if err := c.Derive(ctx, "disk.all.read", `rescale(rate(disk.dev.read_bytes), "Mbyte / sec")`); err != nil {
		log.Fatal(err)
	}
	g := c.Group()
	read := pmapi.AddSet[float64](g, "disk.all.read")
	for now, err := range g.Every(ctx, time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		for disk, v := range read.All() {
			fmt.Println(now.UTC().Format(time.TimeOnly), disk.Name, v, "Mbyte / sec")
		}
	}
	// Output:
	// 12:00:01 sda 1 Mbyte / sec
	// 12:00:01 sdb 2 Mbyte / sec
	// 12:00:02 sda 1 Mbyte / sec
	// 12:00:02 sdb 2 Mbyte / sec
	// 12:00:03 sda 1 Mbyte / sec
	// 12:00:03 sdb 2 Mbyte / sec
}
