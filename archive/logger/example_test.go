package logger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A program records a source of metrics, and reads the archive.
func Example() {
	ctx := context.Background()
	src := &pmapitest.Source{} // in place of pmapi.Dial, or pmapi.Local with a collector of this process
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "oven.temperature"}).Set(180)

	dir, err := os.MkdirTemp("", "logger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "20261123")
	c := src.Context()
	defer c.Close()
	if err := logger.Run(ctx, c, logger.Options{Config: "log mandatory on 10 milliseconds { oven }", Base: base, EndRecords: 3}); err != nil {
		log.Fatal(err)
	}

	set, err := archive.Open(ctx, base)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	g, err := pmapi.Open(ctx, base)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	group := g.Group()
	temperature := pmapi.Add[float64](group, "oven.temperature")
	for _, err := range group.Every(ctx, time.Duration(0)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(temperature.Value())
	}
	// Output:
	// 180 <nil>
	// 180 <nil>
	// 180 <nil>
}
