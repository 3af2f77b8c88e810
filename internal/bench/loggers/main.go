//go:build linux

// Loggers measures what it costs to record many collectors in one process. Each has a
// collector.Server in this process, a context on it and a logger.Logger with a separate archive.
//
//	loggers [-n LOGGERS] [-m METRICS] [-t INTERVAL] [-s TIME] [-d DIR] [-cpuprofile FILE]
//
// It prints one line: the numbers of written and missed records, their maximum and 99th percentile
// delay, the share of one CPU, the maximum memory in use, and allocations per record. The figures
// include the work of the collectors.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/bench/process"
)

func main() {
	o := options{}
	flag.IntVar(&o.loggers, "n", 500, "loggers")
	flag.IntVar(&o.metrics, "m", 10, "metrics of each")
	flag.DurationVar(&o.interval, "t", time.Second, "interval")
	flag.DurationVar(&o.lasts, "s", time.Minute, "how long")
	flag.StringVar(&o.dir, "d", "", "directory for the archives, which stay there; by default a temporary one")
	profile := flag.String("cpuprofile", "", "file for a profile of the CPU time")
	flag.Parse()
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "loggers")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	defer process.Profile(*profile)()
	var before, after runtime.MemStats
	start, cpu := time.Now(), process.CPU()
	runtime.ReadMemStats(&before)
	run, err := o.record(context.Background())
	if err != nil {
		log.Print(err)
		return
	}
	elapsed, used := time.Since(start), process.CPU()-cpu
	runtime.ReadMemStats(&after)
	rss := process.PeakRSS()
	if err := run.read(o); err != nil {
		log.Print(err)
		return
	}
	slices.Sort(run.late)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	fmt.Printf("bench=loggers loggers=%d metrics=%d records=%d missed=%d late_p99_ms=%.1f late_max_ms=%.1f cpu=%.2f%% rss_mib=%.1f cpu_us_per_record=%.1f allocs_per_record=%.2f\n",
		o.loggers, o.metrics, run.records, run.missed, ms(run.late[len(run.late)*99/100]), ms(run.late[len(run.late)-1]),
		100*used.Seconds()/elapsed.Seconds(), float64(rss)/(1<<20), float64(used)/1e3/float64(run.records), float64(after.Mallocs-before.Mallocs)/float64(run.records))
}
