//go:build linux

// Fleet measures what it costs to watch many hosts: it starts a process with collectors that listen
// on the loopback interface, and watches them by a pmapi.Fleet.
//
//	fleet [-n HOSTS] [-t INTERVAL] [-s TIME] [-cpuprofile FILE] [-memprofile FILE]
//
// It prints a line of figures: ticks and how many were missed, rows that were late or had no
// values, the time from the beginning of a tick until all its rows are there, the share of one CPU,
// the memory in use at the most, and allocations for each host and tick.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/bench/process"
	"github.com/pcp-go/pcp/pmapi"
)

func main() {
	n := flag.Int("n", 500, "hosts")
	interval := flag.Duration("t", time.Second, "interval")
	lasts := flag.Duration("s", time.Minute, "how long")
	profile := flag.String("cpuprofile", "", "file for a profile of the CPU time")
	memory := flag.String("memprofile", "", "file for a profile of the memory")
	serving := flag.Bool("serve", false, "be the collectors")
	flag.Parse()
	ctx := context.Background()
	if *serving {
		if err := serve(ctx, *n); err != nil {
			log.Fatal(err)
		}
		return
	}
	addrs, stop, err := startCollectors(*n)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	defer process.Profile(*profile)()
	if err := watch(ctx, addrs, *interval, *lasts, *memory); err != nil {
		log.Print(err)
	}
}

// startCollectors starts this program with -serve, which ends when stop is called.
func startCollectors(n int) (addrs []string, stop func(), err error) {
	cmd := exec.Command("/proc/self/exe", "-serve", "-n", fmt.Sprint(n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() { in.Close(); cmd.Wait() }
	for lines := bufio.NewScanner(out); len(addrs) < n && lines.Scan(); {
		addrs = append(addrs, lines.Text())
	}
	if len(addrs) < n {
		stop()
		return nil, nil, errors.New("the collectors have not started")
	}
	return addrs, stop, nil
}

// items are the metrics to fetch: those of the example fleet's default.
type items struct{ load, cpu, memory *pmapi.Item[float64] }

// figures are the results of a measurement.
type figures struct {
	ticks, missed, rows, late, none int
	took                            []time.Duration
	cpu                             time.Duration
	elapsed                         time.Duration
	mallocs                         uint64
	rss                             int64
}

func watch(ctx context.Context, addrs []string, interval, lasts time.Duration, memory string) error {
	d := new(pmapi.Derived)
	if err := errors.Join(d.Define("my.cpu", "100 * (1 - rate(kernel.all.cpu.idle) / hinv.ncpu)"),
		d.Define("my.memory", "100 * (1 - mem.util.available / mem.physmem)")); err != nil {
		return err
	}
	f := &pmapi.Fleet[items]{Dialer: &pmapi.Dialer{Derived: d}, Items: func(g *pmapi.Group) items {
		return items{
			pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute")),
			pmapi.Add[float64](g, "my.cpu"),
			pmapi.Add[float64](g, "my.memory"),
		}
	}}
	if err := f.Add(addrs...); err != nil {
		return err
	}
	var m figures
	var before, after runtime.MemStats
	m.took = make([]time.Duration, 0, 1<<16)
	start, cpu := time.Now(), process.CPU()
	for tick := range f.Every(ctx, interval) {
		took := time.Since(tick.Time)
		if m.ticks++; m.ticks == 5 {
			runtime.ReadMemStats(&before)
		}
		m.count(tick, took)
		if time.Since(start) >= lasts-interval/2 {
			runtime.ReadMemStats(&after) // before connections are closed
			break
		}
	}
	m.elapsed, m.cpu = time.Since(start), process.CPU()-cpu
	m.mallocs, m.rss = after.Mallocs-before.Mallocs, process.PeakRSS()
	m.print(len(addrs))
	if memory != "" {
		out, err := os.Create(memory)
		if err != nil {
			return err
		}
		defer out.Close()
		return pprof.Lookup("allocs").WriteTo(out, 0)
	}
	return nil
}

// count counts the rows of a tick. At the first one there are no rates.
func (m *figures) count(tick *pmapi.FleetTick[items], took time.Duration) {
	m.missed += tick.Missed
	m.took = append(m.took, took)
	for i := range tick.Rows {
		r := &tick.Rows[i]
		m.rows++
		if r.Status.State != pmapi.HostUp {
			m.late++
			continue
		}
		_, loadErr := r.Items.load.Value()
		_, memoryErr := r.Items.memory.Value()
		bad := loadErr != nil || memoryErr != nil
		if m.ticks > 1 {
			_, err := r.Items.cpu.Value()
			bad = bad || err != nil
		}
		if bad {
			m.none++
		}
	}
}

func (m *figures) print(hosts int) {
	slices.Sort(m.took)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	fmt.Printf("bench=fleet hosts=%d ticks=%d missed=%d rows=%d not_up=%d no_value=%d p50_ms=%.1f p99_ms=%.1f max_ms=%.1f cpu=%.2f%% rss_mib=%.1f cpu_us_per_row=%.1f allocs_per_row=%.2f\n",
		hosts, m.ticks, m.missed, m.rows, m.late, m.none, ms(m.took[len(m.took)/2]), ms(m.took[len(m.took)*99/100]), ms(m.took[len(m.took)-1]),
		100*m.cpu.Seconds()/m.elapsed.Seconds(), float64(m.rss)/(1<<20), float64(m.cpu)/1e3/float64(m.rows),
		float64(m.mallocs)/float64(hosts*max(m.ticks-5, 1)))
}
