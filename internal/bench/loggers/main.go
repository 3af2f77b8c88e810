//go:build linux

// Loggers measures what it costs to record many collectors in one process: each has a collector.Server in this process, a context on
// it and a logger.Logger with an archive of its own.
//
//	loggers [-n LOGGERS] [-m METRICS] [-t INTERVAL] [-s TIME] [-d DIR] [-cpuprofile FILE]
//
// It prints a line of figures: records and how many were missed, how late they were at the most and the 99th of a hundred, the share of one
// CPU, the memory in use at the most, and allocations for each record. They include the work of the collectors.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
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
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	var before, after runtime.MemStats
	start, cpu := time.Now(), ownCPU()
	runtime.ReadMemStats(&before)
	run, err := o.record(context.Background())
	if err != nil {
		log.Print(err)
		return
	}
	elapsed, used := time.Since(start), ownCPU()-cpu
	runtime.ReadMemStats(&after)
	rss := peakRSS()
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

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is the most memory that this process had, in bytes.
func peakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	var kib int64
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		fmt.Sscan(rest, &kib)
	}
	return kib << 10
}
