package logreduce_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logreduce"
	"github.com/pcp-go/pcp/pmapi"
)

// This example writes values every half second.
func ExampleOptions_Reduce() {
	dir, err := os.MkdirTemp("", "archives")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	pc, err := pmapi.Open(ctx, "../testdata/v3")
	if err != nil {
		log.Fatal(err)
	}
	defer pc.Close()
	reduced := filepath.Join(dir, "reduced")
	if err := (logreduce.Options{Interval: 500 * time.Millisecond}).Reduce(ctx, pc, reduced); err != nil {
		log.Fatal(err)
	}
	set, err := archive.Open(ctx, reduced)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	c := set.Cursor()
	for c.Next() == nil {
		r, err := c.Result()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Time().Sub(set.Start()), r.Len(), "metrics")
	}
	// Output:
	// 0s 18 metrics
	// 500ms 13 metrics
	// 1s 13 metrics
}
