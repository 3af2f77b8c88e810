package retention_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/retention"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// This example merges and compresses two archives of the day before.
func ExampleMaintain() {
	dir, err := os.MkdirTemp("", "archives")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	start := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
	for _, begin := range []time.Time{start, start.Add(3 * time.Hour), start.Add(24 * time.Hour)} {
		base, err := retention.Base(dir, begin)
		if err == nil {
			err = writeOne(base, begin)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	o := retention.Options{
		Merge:    logextract.Options{}.Run,
		Compress: retention.Gzip(gzip.DefaultCompression),
		Location: time.UTC,
		Now:      start.Add(25 * time.Hour),
		Did:      func(a retention.Action) { fmt.Println(a.Kind, a.From, a.To) },
	}
	if err := retention.Maintain(context.Background(), dir, o); err != nil {
		log.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.meta*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range left {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// merged [20261123.09.30 20261123.12.30] 20261123
	// compressed [20261123.meta] 20261123.meta.gz
	// compressed [20261123.0] 20261123.0.gz
	// 20261123.meta.gz
	// 20261124.09.30.meta
}

// This example records the program itself into an archive for each day.
func ExampleRecord() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	src := &pmapitest.Source{} // in place of pmapi.Dial, or pmapi.Local with a collector of this process
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "oven.temperature"}).Set(180)
	c := src.Context()
	defer c.Close()
	dir, err := os.MkdirTemp("", "archives")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	lo := logger.Options{Config: "log mandatory on 10 milliseconds { oven }", EndRecords: 3} // EndRecords is for this example
	o := retention.Options{
		Merge:    logextract.Options{}.Run,
		Compress: retention.Gzip(gzip.DefaultCompression),
		Keep:     14 * 24 * time.Hour,
	}
	if err := retention.Record(ctx, c, dir, lo, o); err != nil {
		log.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.meta"))
	fmt.Println(len(made) > 0, err)
	// Output: true <nil>
}

// writeOne writes an archive of one record.
func writeOne(base string, t time.Time) error {
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		return err
	}
	if _, err := im.AddMetric("web.requests", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}); err != nil {
		return err
	}
	if err := im.Put("web.requests", "", pdu.AtomOf(uint64(17))); err != nil {
		return err
	}
	if err := im.Write(t); err != nil {
		return err
	}
	return im.Close()
}
