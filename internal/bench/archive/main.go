//go:build linux

// Archive reads an archive as fast as it can, as the benchmark of the C library does with
// which it is compared:
//
//	archive [-s SECONDS] [-contexts N] [-cpuprofile FILE] [-mutexprofile FILE] ARCHIVE MODE
//
// MODE is one of
//
//	open               open and close the archive again and again, names included
//	scan               decode and check every data record, as pmFetchArchive(3) does
//	walk               only find the data records
//	forw N             fetch N metrics, or all if N is 0, in ModeForward
//	interp STEP_MS N   the same in ModeInterp
//	group N            fetch N metrics of a group, in ModeForward
//
// All but open go over the archive once, or until the time is over; -contexts does so with several
// contexts at the same time.
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
	"strconv"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/bench/process"
	"github.com/pcp-go/pcp/pdu"
)

func main() {
	seconds := flag.Float64("s", 5, "seconds")
	contexts := flag.Int("contexts", 1, "how many contexts")
	profile := flag.String("cpuprofile", "", "file for a profile")
	mutexes := flag.String("mutexprofile", "", "file for a profile of contention")
	flag.Parse()
	if flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	defer process.Profile(*profile)()
	if *mutexes != "" {
		runtime.SetMutexProfileFraction(1)
		defer writeMutexes(*mutexes)
	}
	limit := time.Duration(*seconds * float64(time.Second))
	name, mode := flag.Arg(0), flag.Arg(1)
	var err error
	switch mode {
	case "open":
		err = open(name, limit)
	case "scan", "walk", "forw", "interp", "group":
		err = read(name, mode, flag.Args()[2:], *contexts, limit)
	default:
		err = fmt.Errorf("no mode %q", mode)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func writeMutexes(path string) {
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(pprof.Lookup("mutex").WriteTo(f, 0), f.Close())
	}
	if err != nil {
		log.Print(err)
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

// A reader reads an archive once.
type reader struct {
	next  func() error // pdu.ErrEOL at the end
	close func() error

	results, values, bytes int
}

// newReader opens an archive for a mode.
func newReader(name, mode string, args []string) (*reader, error) {
	if mode == "scan" || mode == "walk" {
		return newScanner(name, mode == "scan")
	}
	numbers := make([]int, len(args))
	for i, arg := range args {
		var err error
		if numbers[i], err = strconv.Atoi(arg); err != nil {
			return nil, err
		}
	}
	want := 1
	if mode == "interp" {
		want = 2
	}
	if len(numbers) != want {
		return nil, fmt.Errorf("%s takes %d numbers", mode, want)
	}
	return newFetcher(name, mode, numbers)
}

// newScanner reads records.
func newScanner(name string, decode bool) (*reader, error) {
	s, err := archive.Open(context.Background(), name)
	if err != nil {
		return nil, err
	}
	c := s.Cursor()
	r := &reader{close: s.Close}
	r.next = func() error {
		if err := c.Next(); err != nil {
			return err
		}
		r.bytes += len(c.Record().Raw)
		if !decode {
			return nil
		}
		res, err := c.Result()
		if err != nil {
			return err
		}
		r.count(res)
		return nil
	}
	return r, nil
}

// count counts the values of a result.
func (r *reader) count(res *pdu.Result) {
	for i := range res.Len() {
		r.values += res.At(i).Len()
	}
}

// read prints how fast an archive is read.
func read(name, mode string, args []string, contexts int, limit time.Duration) error {
	readers := make([]*reader, contexts)
	for i := range readers {
		r, err := newReader(name, mode, args)
		if err != nil {
			return err
		}
		defer r.close()
		readers[i] = r
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := process.CPU()
	begin := time.Now()
	errs := make([]error, contexts)
	var wg sync.WaitGroup
	for i, r := range readers {
		wg.Go(func() { errs[i] = r.run(begin.Add(limit)) })
	}
	wg.Wait()
	took := time.Since(begin).Seconds()
	cpu = process.CPU() - cpu
	runtime.ReadMemStats(&after)
	var all reader
	for _, r := range readers {
		all.results += r.results
		all.values += r.values
		all.bytes += r.bytes
	}
	n := float64(max(all.results, 1))
	fmt.Printf("bench=archive label=%s mode=%s arg=%v contexts=%d results=%d rps=%.0f us_per_result=%.2f cpu_us_per_result=%.2f Mvalps=%.2f MBps=%.1f el_s=%.3f allocs=%d hwm_kb=%d\n",
		filepath.Base(name), mode, args, contexts, all.results, n/took, took*1e6/n, cpu.Seconds()*1e6/n,
		float64(all.values)/took/1e6, float64(all.bytes)/took/1e6, took, after.Mallocs-before.Mallocs, process.PeakRSS()>>10)
	return errors.Join(errs...)
}

// run reads until the end.
func (r *reader) run(end time.Time) error {
	for time.Now().Before(end) {
		if err := r.next(); errors.Is(err, pdu.ErrEOL) {
			return nil
		} else if err != nil {
			return err
		}
		r.results++
	}
	return nil
}
