package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A result is what a program has written, and its exit status.
type result struct {
	Stdout, Stderr string
	Status         int
}

// runProgram runs a program to its end.
func runProgram(t *testing.T, program string, args ...string) result {
	t.Helper()
	stdout, stderr, status := pcptest.Run(t, nil, "", append([]string{program}, args...)...)
	return result{stdout, stderr, status}
}

// TestInteropConstant compares what both print of metrics that do not change, byte for byte.
func TestInteropConstant(t *testing.T) {
	pcptest.Need(t, "pmval", "pmcd")
	ours := pcptest.Build(t, "./examples/pmval")
	host := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample", "linux"}}).Host()
	for line := range strings.Lines(strings.TrimSpace(`
sample.long.bin_ctr
sample.ulong.bin_ctr -r
sample.longlong.bin_ctr -w 9
sample.double.bin_ctr -w 3
sample.float.bin_ctr -f 2
sample.float.bin -f 1 -w 3
sample.bogus_bin
sample.part_bin -i bin-100,bin-200
sample.needprofile
sample.bad.fetch.again
sample.hordes.one
sample.darkness
sample.string.hullo
sample.dynamic.counter
sample.not_ready
sample.scale_step.none_up -s 1
sample.long.write_me -x 0x11
sample.ulonglong.write_me -x -1
sample.string.write_me -x nothing
sample.bin -x 17
sample.bin -x 100 -i bin-100,bin-200
sample.seconds -x 3
sample.event.records -x start
sample.long.one -z
sample.event.no_indom_records -s 0 -z
hinv.ncpu
kernel.uname.sysname
pmcd.agent.status
pmcd.numagents -r
`)) {
		args := append([]string{"-h", host, "-t", "10msec", "-s", "3"}, strings.Fields(line)...)
		if diff := cmp.Diff(runProgram(t, "pmval", args...), runProgram(t, ours, args...)); diff != "" {
			t.Errorf("pmval %s (-PCP +ours):\n%s", line, diff)
		}
	}
}

// TestInteropMoving compares the layout of what both print of metrics that change.
func TestInteropMoving(t *testing.T) {
	pcptest.Need(t, "pmval", "pmcd")
	ours := pcptest.Build(t, "./examples/pmval")
	host := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample", "linux"}}).Host()
	number := regexp.MustCompile(` *[-+]?\d[\d.]*(E[-+]\d+)? *`)
	for line := range strings.Lines(strings.TrimSpace(`
kernel.all.load
kernel.all.load[1,15] -f 3
kernel.all.pswitch
kernel.percpu.cpu.user -f 2
kernel.percpu.cpu.user -r
kernel.all.uptime
mem.util.free -X
disk.all.total -w 30
sample.milliseconds
sample.drift
sample.colour
sample.proc.exec -i init -s 1
sample.event.records -Z CET-1
sample.event.highres_records -z
`)) {
		args := append([]string{"-h", host, "-t", "50msec", "-s", "3"}, strings.Fields(line)...)
		layout := func(program string) result {
			if strings.Contains(line, "event") {
				runProgram(t, "pmstore", "-h", host, "sample.event.reset", "0")
				runProgram(t, "pmstore", "-h", host, "sample.event.reset_highres", "0")
			}
			r := runProgram(t, program, args...)
			head, rows, _ := strings.Cut(r.Stdout, "interval:")
			r.Stdout = head + number.ReplaceAllString(rows, "N")
			return r
		}
		if diff := cmp.Diff(layout("pmval"), layout(ours)); diff != "" {
			t.Errorf("pmval %s (-PCP +ours):\n%s", line, diff)
		}
	}
}

// TestInteropIdentity has a collector say who its client is.
func TestInteropIdentity(t *testing.T) {
	pcptest.Need(t, "pmcd")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}})
	ours := pcptest.Build(t, "./examples/pmval")
	r := runProgram(t, ours, "-h", pmcd.Host(), "-s", "1", "pmcd.client.whoami")
	if want := ") " + ours + " -h " + pmcd.Host() + " -s 1 pmcd.client.whoami\""; !strings.Contains(r.Stdout, want) {
		t.Errorf("no %s in %+v", want, r)
	}
}

// TestInteropLoss ends pmcd while the tools print its values.
func TestInteropLoss(t *testing.T) {
	pcptest.Need(t, "pmval", "pmcd")
	for _, metric := range []string{"sample.long.one", "sample.long.bin", "sample.long.bin_ctr"} {
		t.Run(metric, func(t *testing.T) {
			pcptest.Retry(t, func() string { // a request may be pending, which ends otherwise
				want := runUntilLoss(t, pcptest.Tool(t, "pmval"), metric)
				got := runUntilLoss(t, pcptest.Build(t, "./examples/pmval"), metric)
				if want.Status != 1 || !strings.Contains(want.Stderr, "IPC protocol failure") {
					return fmt.Sprintf("pmval did not lose its pmcd: %+v", want)
				}
				return cmp.Diff(want, got)
			})
		})
	}
}

// runUntilLoss runs a program until it has printed some rows, and ends its pmcd. Equal rows in the
// output become one.
func runUntilLoss(t *testing.T, program, metric string) result {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-h", pmcd.Host(), "-t", "20msec", metric)
	cmd.Env = pcptest.Env()
	out, errs := &lines{}, &lines{}
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for out.count() < 12 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	pmcd.Stop()
	err := cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end: %v", program, err)
	}
	var distinct []string
	for l := range strings.Lines(out.String()) {
		if len(distinct) == 0 || distinct[len(distinct)-1] != l {
			distinct = append(distinct, l)
		}
	}
	return result{strings.Join(distinct, ""), errs.String(), cmd.ProcessState.ExitCode()}
}

// lines are what a program writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) count() int { return strings.Count(l.String(), "\n") }

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// TestPace checks that pmval keeps the interval although the collector is slow.
func TestPace(t *testing.T) {
	program := pcptest.Build(t, "./examples/pmval")
	pcptest.Retry(t, func() string { return checkPace(t, program) }) // a busy machine is late
}

// checkPace returns how far fetches were from the interval, "" if they kept it.
func checkPace(t *testing.T, program string) string {
	t.Helper()
	const interval, delay, n = 300 * time.Millisecond, 180 * time.Millisecond, 10
	var mu sync.Mutex
	var times []time.Time
	slow := scripted.Collector{Metrics: []scripted.Metric{{Name: "slow", Desc: pdu.Desc{PMID: pdu.MakePMID(400, 0, 0), Type: pdu.Type32, Sem: pdu.SemInstant, InDom: pdu.NoInDom},
		Values: func(_ int, w *pdu.ResultWriter) {
			mu.Lock()
			times = append(times, time.Now())
			mu.Unlock()
			time.Sleep(delay)
			w.Int32(pdu.NoInst, 1)
		}}}}
	host, started := slow.Serve(t), time.Now()
	r := runProgram(t, program, "-h", host, "-t", fmt.Sprint(interval.Seconds()), "-s", fmt.Sprint(n), "slow")
	if r.Status != 0 || strings.Count(r.Stdout, "\n          1") != n || len(times) != n {
		t.Fatalf("%d fetches: %+v", len(times), r)
	}
	if took := times[n-1].Sub(times[0]); took < (n-1)*interval-delay || took > (n-1)*interval+(n-1)*delay/2 {
		return fmt.Sprintf("%d samples took %v, want %v", n, took, (n-1)*interval)
	}
	if first := times[0].Sub(started); first > interval*8 {
		return fmt.Sprintf("the first came after %v", first)
	}
	return ""
}
