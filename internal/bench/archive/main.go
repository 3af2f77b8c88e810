// Archive reads an archive as fast as it can, as the benchmark of the C library does with
// which it is compared:
//
//	archive [-s SECONDS] [-cpuprofile FILE] ARCHIVE open|scan|walk
//
// open opens and closes the archive again and again, names included; scan decodes and checks
// every data record, as pmFetchArchive(3) does; walk only finds the records. scan and walk go
// over the archive once, or until the time is over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

func main() {
	seconds := flag.Float64("s", 5, "seconds")
	profile := flag.String("cpuprofile", "", "file for a profile")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	limit := time.Duration(*seconds * float64(time.Second))
	name, mode := flag.Arg(0), flag.Arg(1)
	var err error
	if mode == "open" {
		err = open(name, limit)
	} else {
		err = scan(name, mode, limit)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open prints how long it takes to open an archive.
func open(name string, limit time.Duration) error {
	var took []time.Duration
	for begin := time.Now(); len(took) == 0 || time.Since(begin) < limit; {
		start := time.Now()
		s, err := archive.Open(context.Background(), name)
		if err != nil {
			return err
		}
		s.Metadata().Names()
		if err := s.Close(); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	quantile := func(q float64) float64 { return took[int(q*float64(len(took)-1))].Seconds() * 1e6 }
	fmt.Printf("bench=archive label=%s mode=open p50_us=%.1f p99_us=%.1f opens=%d\n",
		filepath.Base(name), quantile(0.5), quantile(0.99), len(took))
	return nil
}

// scan prints how fast the records are read.
func scan(name, mode string, limit time.Duration) error {
	s, err := archive.Open(context.Background(), name)
	if err != nil {
		return err
	}
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records, values, bytes := 0, 0, 0
	c := s.Cursor()
	begin := time.Now()
	for time.Since(begin) < limit {
		err := c.Next()
		if err == pdu.ErrEOL {
			break
		}
		if err != nil {
			return err
		}
		records++
		bytes += len(c.Record().Raw)
		if mode != "scan" {
			continue
		}
		r, err := c.Result()
		if err != nil {
			return errors.Join(err, s.Close())
		}
		for _, set := range r.All() {
			values += set.Len()
		}
	}
	took := time.Since(begin).Seconds()
	runtime.ReadMemStats(&after)
	fmt.Printf("bench=archive label=%s mode=%s results=%d rps=%.0f us_per_result=%.2f Mvalps=%.2f MBps=%.1f el_s=%.3f allocs=%d sys_kb=%d\n",
		filepath.Base(name), mode, records, float64(records)/took, took*1e6/float64(max(records, 1)), float64(values)/took/1e6,
		float64(bytes)/took/1e6, took, after.Mallocs-before.Mallocs, after.Sys>>10)
	return nil
}
