//go:build linux

// Pmloggers compares what programs like pmlogger(1) cost while they record. A private pmcd of C
// serves the metrics of one agent, and all programs record all of them at the same time.
//
//	pmloggers [-m METRICS] [-t INTERVAL] [-w TIME] [-s TIME] [-n WINDOWS] [-pmcd PROGRAM]
//		[-pmdas DIR] PROGRAM...
//
// After a warm-up it measures several windows of time. For each window it prints one line per
// program: the CPU time per record, divided into user and system time, the context switches per
// record, and the ratio of the CPU time to the first program's. The last line has the medians.
//
//	go build -o /tmp/ours ./examples/pmlogger && pmloggers /usr/lib/pcp/bin/pmlogger /tmp/ours
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/mmv"
)

type options struct {
	metrics, windows       int
	interval, warm, window time.Duration
	pmcd, agents           string
	dir                    string // for all files
}

func main() {
	o := options{}
	flag.IntVar(&o.metrics, "m", 1000, "metrics")
	flag.DurationVar(&o.interval, "t", 100*time.Millisecond, "interval")
	flag.DurationVar(&o.warm, "w", 5*time.Second, "warm-up, which is not measured")
	flag.DurationVar(&o.window, "s", 10*time.Second, "length of a window")
	flag.IntVar(&o.windows, "n", 3, "windows")
	flag.StringVar(&o.pmcd, "pmcd", "/usr/lib/pcp/bin/pmcd", "collector")
	flag.StringVar(&o.agents, "pmdas", "/var/lib/pcp/pmdas", "directory of its agents")
	flag.Parse()
	if err := o.run(flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func (o options) run(programs []string) (err error) {
	if o.dir, err = os.MkdirTemp("", "pmloggers"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	values := filepath.Join(o.dir, "mmv")
	if err := os.Mkdir(values, 0o777); err != nil {
		return err
	}
	reg := mmv.Registry{Name: "bench"}
	for i := range o.metrics {
		reg.Counter(fmt.Sprint("m", i), mmv.Metric{}).Inc()
	}
	if err := reg.Publish(values); err != nil {
		return err
	}
	defer reg.Close()
	files := map[string]string{
		"pmcd.conf": fmt.Sprintf("pmcd 2 dso pmcd_init %s/pmcd/pmda_pmcd.so\nmmv 70 dso mmv_init %[1]s/mmv/pmda_mmv.so\n", o.agents),
		"log.conf":  fmt.Sprintf("log mandatory on %d msec { mmv.bench }\n", o.interval.Milliseconds()),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	socket := filepath.Join(o.dir, "pmcd.socket")
	pmcd, err := o.start(o.pmcd, "-f", "-l", "pmcd.log", "-p", "44391", "-s", socket, "-i", "INADDR_LOOPBACK", "-c", "pmcd.conf")
	if err != nil {
		return err
	}
	defer end(pmcd)
	for range 100 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	loggers := make([]*logger, len(programs))
	for i, p := range programs {
		l := &logger{program: p, base: filepath.Join(o.dir, fmt.Sprint("archive", i))}
		if l.cmd, err = o.start(p, "-h", "localhost:44391", "-c", "log.conf", "-l", l.base+".log", l.base); err != nil {
			return err
		}
		defer end(l.cmd)
		loggers[i] = l
		time.Sleep(o.interval / time.Duration(len(programs))) // not all at the same moment
	}
	return o.measure(loggers)
}

// start starts a program of PCP with its files in the directory.
func (o options) start(program string, args ...string) (*exec.Cmd, error) {
	c := exec.Command(program, args...)
	c.Dir, c.Stderr = o.dir, os.Stderr
	c.Env = append(os.Environ(), "PCP_TMP_DIR="+o.dir, "PCP_RUN_DIR="+o.dir, "PMLOGGER_LOCAL=1", "PMLOGGER_PORT=44401", "PCP_DERIVED_CONFIG=")
	return c, c.Start()
}

func end(c *exec.Cmd) {
	c.Process.Signal(os.Interrupt)
	c.Wait()
}

// measure prints the figures of all windows.
func (o options) measure(loggers []*logger) error {
	time.Sleep(o.warm)
	for _, l := range loggers {
		if err := l.first(); err != nil {
			return err
		}
	}
	for range o.windows {
		time.Sleep(o.window)
		for i, l := range loggers {
			if err := l.next(); err != nil {
				return err
			}
			base := loggers[0]
			ratio := l.cpus[len(l.cpus)-1] / base.cpus[len(base.cpus)-1]
			l.ratios = append(l.ratios, ratio)
			fmt.Printf("bench=pmloggers logger=%d records=%.0f cpu_us_per_record=%.1f user_us=%.0f system_us=%.0f switches_per_record=%.2f ratio=%.3f\n",
				i, l.records, l.cpus[len(l.cpus)-1], l.user, l.system, l.switches, ratio)
		}
	}
	for i, l := range loggers {
		slices.Sort(l.cpus)
		slices.Sort(l.ratios)
		fmt.Printf("bench=pmloggers logger=%d median_cpu_us_per_record=%.1f median_ratio=%.3f program=%s\n",
			i, l.cpus[len(l.cpus)/2], l.ratios[len(l.ratios)/2], strings.TrimSpace(l.program))
	}
	return nil
}
