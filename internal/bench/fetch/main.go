//go:build linux

// Fetch is a load of fetches from clients of package pmapi: what fetch_bench is
// with the C library, with the same flags and the same line of results, so that
// both can run against one collector, one after the other.
//
//	fetch -h HOST -m NAME[,NAME...] | -x PREFIX [-n CONNS] [-s SECONDS] [-P PID] [-l LABEL]
//		[-cpuprofile FILE]
//
// Each connection fetches as fast as it can. -P adds the CPU time of the server.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/bench/process"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

func main() {
	host := flag.String("h", "localhost", "collector")
	list := flag.String("m", "", "metrics, separated by commas")
	prefix := flag.String("x", "", "all metrics below a name")
	n := flag.Int("n", 1, "connections")
	secs := flag.Float64("s", 2, "seconds")
	pid := flag.Int("P", 0, "process of the server")
	label := flag.String("l", "-", "label")
	profile := flag.String("cpuprofile", "", "file for a profile")
	flag.Parse()
	defer process.Profile(*profile)()
	l := load{host: *host, label: *label, pid: *pid, lasts: time.Duration(*secs * 1e9)}
	if err := l.run(context.Background(), *list, *prefix, *n); err != nil {
		log.Fatal(err)
	}
}

// A load describes the requests of a run.
type load struct {
	host, label string
	pid         int
	lasts       time.Duration
	ids         []pdu.PMID
}

// A worker is one connection.
type worker struct {
	took   []time.Duration
	values int
	errors int
}

func (l *load) run(ctx context.Context, list, prefix string, n int) error {
	if err := l.lookup(ctx, list, prefix); err != nil {
		return err
	}
	workers := make([]worker, n)
	var stop atomic.Bool
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	var failed atomic.Int32
	for i := range workers {
		ready.Add(1)
		done.Go(func() {
			c, err := pmapi.Dial(ctx, l.host)
			if ready.Done(); err != nil {
				failed.Add(1)
				return
			}
			defer c.Close()
			<-begin
			workers[i].work(ctx, c, l.ids, &stop)
		})
	}
	ready.Wait()
	before, start := process.CPUOf(l.pid), time.Now()
	close(begin)
	time.Sleep(l.lasts)
	stop.Store(true)
	elapsed, server := time.Since(start), process.CPUOf(l.pid)-before
	done.Wait()
	own := process.CPU() // what follows is not the client's
	l.print(workers, int(failed.Load()), elapsed, own, server)
	return nil
}

func (l *load) lookup(ctx context.Context, list, prefix string) error {
	c, err := pmapi.Dial(ctx, l.host)
	if err != nil {
		return err
	}
	defer c.Close()
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	if prefix != "" {
		if names, err = c.Traverse(ctx, prefix); err != nil {
			return err
		}
	}
	l.ids, err = c.Lookup(ctx, names)
	return err
}

func (w *worker) work(ctx context.Context, c *pmapi.Context, ids []pdu.PMID, stop *atomic.Bool) {
	w.took = make([]time.Duration, 0, 1<<20)
	var r pdu.Result
	for !stop.Load() {
		start := time.Now()
		if err := c.Fetch(ctx, ids, &r); err != nil {
			if w.errors++; w.errors > 100 {
				return
			}
			continue
		}
		if w.took = append(w.took, time.Since(start)); w.values == 0 {
			for _, s := range r.All() {
				w.values += s.Len()
			}
		}
	}
}

func (l *load) print(workers []worker, failed int, elapsed, own, server time.Duration) {
	var all []time.Duration
	values, errors := 0, 0
	for _, w := range workers {
		all = append(all, w.took...)
		errors += w.errors
		values = max(values, w.values)
	}
	if len(all) == 0 {
		all = []time.Duration{0}
	}
	slices.Sort(all)
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	fetches := float64(len(all))
	fmt.Printf("bench=fetch label=%s conns=%d failed=%d metrics=%d values=%d rate=%.0f p50_us=%.1f p99_us=%.1f max_us=%.0f cli_us=%.1f errors=%d",
		l.label, len(workers), failed, len(l.ids), values, fetches/elapsed.Seconds(),
		us(all[len(all)/2]), us(all[len(all)*99/100]), us(all[len(all)-1]), us(own)/fetches, errors)
	if l.pid != 0 {
		fmt.Printf(" srv_us=%.1f", us(server)/fetches)
	}
	fmt.Println()
}
