//go:build unix

package pmapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// benchServerEnv is the environment variable that makes TestBenchServer a collector. Its value is
// the number of counters.
const benchServerEnv = "PCP_GO_BENCH_SERVER"

// TestBenchServer is the collector of BenchmarkGroupOfC. It runs in a separate process until its
// standard input ends.
func TestBenchServer(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(benchServerEnv))
	if err != nil {
		t.Skip("is for BenchmarkGroupOfC")
	}
	a := &pmda.Agent{Name: "bench", Domain: 401}
	v := uint64(0)
	for i := range n {
		pmda.Register(a, pmda.Metric[uint64]{Name: fmt.Sprintf("bench.m%d", i), ID: pmda.Item(i/1000, i%1000), Sem: pdu.SemCounter, Units: pdu.SpaceByte,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { v++; return v, nil }})
	}
	srv := new(collector.Server)
	if err := srv.Add(a); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("port", ln.Addr().(*net.TCPAddr).Port)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	if err := srv.Serve(ctx, ln); err != nil {
		t.Error(err)
	}
}

// startBenchServer starts TestBenchServer, and returns its address.
func startBenchServer(b *testing.B, n int) string {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestBenchServer$")
	cmd.Env = append(os.Environ(), benchServerEnv+"="+strconv.Itoa(n))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if port, ok := strings.CutPrefix(lines.Text(), "port "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "localhost:" + port
		}
	}
	b.Fatal("the collector has not started")
	return ""
}

// BenchmarkGroupOfC fetches a group of rates of counters with pmFetchGroup(3) and with ours in
// turn. The source is an archive or a collector in a separate process.
func BenchmarkGroupOfC(b *testing.B) {
	run := cProgram(b, "groupbench")
	for _, size := range []struct{ items, fetches int }{{10, 20000}, {100, 5000}, {1000, 500}} {
		archive := filepath.Join(b.TempDir(), "archive")
		run("write", archive, size.items, size.fetches+5)
		b.Run(fmt.Sprintf("archive/items=%d", size.items), func(b *testing.B) {
			open := func() (*pmapi.Context, error) { return pmapi.Open(b.Context(), archive) }
			raceGroups(b, size.items, size.fetches, open, func() []float64 { return run("fetch", "archive", archive, size.items, size.fetches) })
		})
		b.Run(fmt.Sprintf("host/items=%d", size.items), func(b *testing.B) {
			host := startBenchServer(b, size.items)
			open := func() (*pmapi.Context, error) { return pmapi.Dial(b.Context(), host) }
			raceGroups(b, size.items, size.fetches, open, func() []float64 { return run("fetch", "host", host, size.items, size.fetches) })
		})
	}
}

// raceGroups reports the times of a fetch with the C library and with ours: the client's CPU time
// and the wall time.
func raceGroups(b *testing.B, items, fetches int, open func() (*pmapi.Context, error), theirs func() []float64) {
	var cpu, clock race
	for b.Loop() {
		c := theirs()
		ours := fetchGroup(b, items, fetches, open)
		if c[2] == 0 || ours[2] == 0 {
			b.Fatal("no rates", c, ours)
		}
		cpu.add(c[0], ours[0])
		clock.add(c[1], ours[1])
	}
	cpu.report(b, "cpu-ns/fetch")
	b.ReportMetric(clock.quotient(), "C/Go-by-clock")
}

// fetchGroup returns the times of a fetch, and the sum of the last rates.
func fetchGroup(b *testing.B, items, fetches int, open func() (*pmapi.Context, error)) []float64 {
	b.Helper()
	ctx := b.Context()
	c, err := open()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	g := c.Group()
	var rates []*pmapi.Item[float64]
	for i := range items {
		rates = append(rates, pmapi.Add[float64](g, "bench.m"+strconv.Itoa(i)))
	}
	fetch := func(n int) {
		for range n {
			if _, err := g.Fetch(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	fetch(3)
	cpu, clock := cpuTime(b), time.Now()
	fetch(fetches)
	elapsed := time.Since(clock)
	cpu = cpuTime(b) - cpu
	sum := 0.0
	for _, r := range rates {
		v, err := r.Value()
		if err != nil {
			b.Fatal(err)
		}
		sum += v
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(fetches) }
	return []float64{per(cpu), per(elapsed), sum}
}
