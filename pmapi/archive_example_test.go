package pmapi_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

// A program for a collector reads an archive if it calls Open instead of Dial. Every then uses the
// time of the archive.
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

// Columns returns all values of a metric. This program prints the mean of each column.
func ExampleGroup_Columns() {
	ctx := context.Background()
	c, err := pmapi.Open(ctx, "../archive/testdata/v3")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	g := c.Group()
	pmapi.AddSet[float64](g, "sample.bin")
	pmapi.Add[float64](g, "sample.double.million")
	times, columns, err := g.Columns(ctx, 500*time.Millisecond, time.Time{})
	if err != nil {
		log.Fatal(err)
	}
	for _, col := range columns {
		sum, n := 0., 0
		for _, v := range col.Values {
			if !math.IsNaN(v) { // NaN is no value
				sum, n = sum+v, n+1
			}
		}
		fmt.Println(col.Metric, col.Instance, sum/float64(n))
	}
	fmt.Println(len(times), "rows from", times[0].UTC().Format(time.TimeOnly), columns[len(columns)-1].Values)
	// Output:
	// sample.bin bin-100 100
	// sample.bin bin-200 200
	// sample.bin bin-300 300
	// sample.bin bin-400 400
	// sample.bin bin-500 500
	// sample.bin bin-600 600
	// sample.bin bin-700 700
	// sample.bin bin-800 800
	// sample.bin bin-900 900
	// sample.double.million  1e+06
	// 3 rows from 00:57:08 [NaN 1e+06 1e+06]
}
