//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// options describe a measurement.
type options struct {
	loggers, metrics int
	interval, lasts  time.Duration
	dir              string
}

// figures are the results that the archives show.
type figures struct {
	records, missed int
	late            []time.Duration // how far from the multiples of the interval since the first record
}

// record runs all loggers at the same time.
func (o options) record(ctx context.Context) (*figures, error) {
	config := fmt.Sprintf("log mandatory on %d msec { bench }", o.interval.Milliseconds())
	var all sync.WaitGroup
	errs := make([]error, o.loggers)
	for i := range o.loggers {
		all.Go(func() { errs[i] = o.one(ctx, i, config) })
	}
	all.Wait()
	return new(figures), errors.Join(errs...)
}

// startDelay is how much later each logger starts than the one before.
const startDelay = 10 * time.Millisecond

// one records one collector.
func (o options) one(ctx context.Context, i int, config string) error {
	time.Sleep(time.Duration(i) * startDelay)
	srv := &collector.Server{Logger: slog.New(slog.DiscardHandler)}
	if err := srv.Add(o.agent(i)); err != nil {
		return err
	}
	defer srv.Close()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		return err
	}
	defer c.Close()
	return logger.Run(ctx, c, logger.Options{Config: config, Base: o.base(i), EndAfter: o.lasts})
}

func (o options) base(i int) string { return filepath.Join(o.dir, fmt.Sprint("host", i)) }

// agent has the metrics of a collector.
func (o options) agent(n int) *pmda.Agent {
	a := &pmda.Agent{Name: "bench", Domain: 60}
	for i := range o.metrics {
		pmda.Register(a, pmda.Metric[uint64]{Name: fmt.Sprint("bench.m", i), Sem: pdu.SemCounter,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return uint64(n + i), nil }})
	}
	return a
}

// read counts the records of all archives.
func (f *figures) read(o options) error {
	for i := range o.loggers {
		if err := f.readOne(o, i); err != nil {
			return err
		}
	}
	return nil
}

func (f *figures) readOne(o options, i int) error {
	set, err := archive.Open(context.Background(), o.base(i))
	if err != nil {
		return err
	}
	defer set.Close()
	var first time.Time
	n := 0
	for r, err := range set.Records() {
		if err != nil {
			return err
		}
		if r.Kind != archive.KindResult {
			continue
		}
		var res pdu.Result
		if err := r.Result(&res); err != nil {
			return err
		}
		if res.Len() != o.metrics || res.At(0).PMID.Domain() != 60 {
			continue // the logger's own
		}
		if first.IsZero() {
			first = r.Time
		}
		n++
		off := (r.Time.Sub(first)+o.interval/2)%o.interval - o.interval/2
		f.late = append(f.late, max(off, -off))
	}
	f.records += n
	f.missed += int(o.lasts/o.interval) - n
	return nil
}
