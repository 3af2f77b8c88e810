package trace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/trace"
)

// A cAgent is the C trace agent under a C pmcd.
type cAgent struct {
	*pcptest.PMCD
	config trace.Config // of its clients
}

func startCAgent(t testing.TB, args string) *cAgent {
	t.Helper()
	dir := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "trace")
	program := filepath.Join(dir, "pmdatrace")
	pcptest.Need(t, "pmcd", "pminfo", program)
	names, err := os.ReadFile(filepath.Join(dir, "pmns"))
	if err != nil {
		t.Fatal(err)
	}
	port, tmp := pcptest.FreePort(t), pcptest.ShortDir(t)
	pmns := filepath.Join(tmp, "pmns")
	src := "root { trace }\n#include <stdpmid>\n" + strings.ReplaceAll(string(names), "#include <stdpmid>", "")
	if err := os.WriteFile(pmns, []byte(strings.ReplaceAll(src, "TRACE:", "10:")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tmp, 0o777); err != nil { // the agent runs as another user
		t.Fatal(err)
	}
	line := fmt.Sprintf("trace 10 pipe binary %s -d 10 -l %s -I %d %s", program, filepath.Join(tmp, "log"), port, args)
	a := &cAgent{PMCD: pcptest.StartPMCD(t, pcptest.Config{Agents: []string{line}, PMNS: pmns})}
	a.config = trace.Config{Host: "127.0.0.1", Port: port}
	probe := &trace.Session{Config: a.config} // pmcd may be ready before the agent listens
	probe.Reconnect = []time.Duration{time.Millisecond}
	if !waitFor(func() bool { return probe.Begin(t.Context(), "probe") == nil }) {
		t.Fatalf("the agent does not listen on port %d", port)
	}
	probe.Close()
	return a
}

// values returns the values that pminfo prints, for metrics with values.
func (a *cAgent) values(t testing.TB, metrics ...string) string {
	t.Helper()
	out, stderr, status := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", a.Host(), "-f"}, metrics...)...)
	if status != 0 {
		t.Fatalf("pminfo: %d\n%s", status, stderr)
	}
	return out
}

var instValue = regexp.MustCompile(`inst \[\d+ or "(.*)"\] value (\S+)`)

// counts returns a metric's values by instance.
func (a *cAgent) counts(t testing.TB, metric string) map[string]float64 {
	t.Helper()
	m := map[string]float64{}
	for _, f := range instValue.FindAllStringSubmatch(a.values(t, metric), -1) {
		m[f[1]], _ = strconv.ParseFloat(f[2], 64)
	}
	return m
}

// total returns the sum of a metric's values.
func (a *cAgent) total(t testing.TB, metric string) uint64 {
	t.Helper()
	var sum float64
	for _, v := range a.counts(t, metric) {
		sum += v
	}
	return uint64(sum)
}

// child returns the process ID of the agent, or 0 if it has not started.
func (a *cAgent) child(t testing.TB) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		var pid, ppid int
		var name, state string
		b, _ := os.ReadFile(file)
		if n, _ := fmt.Sscanf(string(b), "%d (%s %s %d", &pid, &name, &state, &ppid); n == 4 && ppid == a.PID() && state != "Z" {
			return pid
		}
	}
	return 0
}

// counted lists the metrics that do not depend on time.
var counted = []string{"trace.transact.count", "trace.point.count", "trace.observe.count", "trace.observe.value",
	"trace.counter.count", "trace.counter.value", "trace.control.period"}

// TestSameMetrics: a C agent exports the same values for a Go client's data as for a C program's.
func TestSameMetrics(t *testing.T) {
	program := buildCalls(t)
	script := strings.Fields(strings.Repeat("point,a obs,b,2.5 counter,a,7 begin,tx end,tx begin,a abort,a point,c ", 5) +
		"obs,b,-1e100 counter,z,0 point,a begin,a end,a")
	callers := []func(trace.Config) (call func(string) error, end func() error){
		func(c trace.Config) (func(string) error, func() error) {
			call := cCaller(t, program, callLimit)(c.Port)
			return func(line string) error {
				if s := call(line); s != "0" {
					return errors.New("C returns " + s)
				}
				return nil
			}, func() error { return nil }
		},
		syncCaller, asyncCaller,
	}
	got := make([]string, len(callers))
	var wg sync.WaitGroup
	for i, start := range callers {
		wg.Go(func() {
			a := startCAgent(t, "")
			call, end := start(a.config)
			for _, line := range script {
				line = strings.ReplaceAll(line, ",", " ")
				if err := call(line); err != nil {
					t.Errorf("%d: %s: %v", i, line, err)
				}
			}
			if err := end(); err != nil {
				t.Errorf("%d: %v", i, err)
			}
			got[i] = a.values(t, counted...)
		})
	}
	wg.Wait()
	for i := range callers[1:] {
		if diff := cmp.Diff(got[0], got[i+1]); diff != "" {
			t.Errorf("%d (-C +Go):\n%s", i+1, diff)
		}
	}
}

func syncCaller(c trace.Config) (call func(string) error, end func() error) {
	s := &trace.Session{Config: c}
	return func(line string) error {
		_, err := sessionCall(s, line)
		return err
	}, s.Close
}

func asyncCaller(config trace.Config) (call func(string) error, end func() error) {
	c := &trace.Client{Config: config}
	spans := map[string]trace.Span{}
	return func(line string) error {
		f := append(strings.Fields(line), "")
		value, _ := strconv.ParseFloat(f[2], 64)
		switch f[0] {
		case "begin":
			spans[f[1]] = c.Begin(f[1])
		case "end":
			sp := spans[f[1]]
			sp.End()
		case "abort":
			sp := spans[f[1]]
			sp.Abort()
		case "point":
			c.Point(f[1])
		case "obs":
			c.Observe(f[1], value)
		case "counter":
			c.Counter(f[1], value)
		}
		return nil
	}, func() error { return c.Close(context.Background()) }
}

// TestRates: data of a Client appear in the agent's intervals.
func TestRates(t *testing.T) {
	a := startCAgent(t, "-T 4 -N 4")
	c := &trace.Client{Config: a.config}
	defer c.Close(t.Context())
	for n := range 10 { // a busy machine may be too slow for the windows
		tag := fmt.Sprint("tag", n)
		for range 8 {
			c.Point(tag)
			c.Transaction(tag, 250*time.Millisecond)
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			time.Sleep(200 * time.Millisecond)
			if a.counts(t, "trace.point.rate")[tag] == 2 && a.counts(t, "trace.transact.ave_time")[tag] == 0.25 {
				return
			}
		}
	}
	t.Errorf("no rate of 2 and no time of 0.25 s:\n%s", a.values(t, "trace.point", "trace.transact"))
}

// TestFraming: with tags of any length, no read of the C agent ends within the header of a PDU.
func TestFraming(t *testing.T) {
	a := startCAgent(t, "")
	c := &trace.Client{Config: a.config, Queue: 1 << 15}
	tags := make([]string, trace.MaxTag)
	for i := range tags {
		tags[i] = strings.Repeat("x", i+1)
	}
	const data = 200_000
	for range data / 20_000 {
		for range 20_000 {
			c.Point(tags[rand.IntN(len(tags))])
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkStats(t, c, trace.Stats{Accepted: data, Acknowledged: data, Connects: 1})
	if got := a.total(t, "trace.point.count"); got != data {
		t.Errorf("the agent has %d data", got)
	}
}

// A load makes calls from several goroutines and measures them.
type load struct {
	c       *trace.Client
	stop    chan struct{}
	wg      sync.WaitGroup
	calls   atomic.Uint64
	over    atomic.Uint64 // calls that took more than a millisecond
	idle    atomic.Uint64 // the same without a call, for comparison
	longest atomic.Int64
}

// callLimit is how long a call may take on a busy machine. The test logs the measured time.
const callLimit = 30 * time.Second

func startLoad(c *trace.Client) *load {
	l := &load{c: c, stop: make(chan struct{})}
	for range 4 {
		l.wg.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
				for range 20 {
					start := time.Now()
					l.c.Point("load")
					end := time.Now()
					if time.Since(end) > time.Millisecond {
						l.idle.Add(1)
					}
					d := end.Sub(start)
					l.calls.Add(1)
					if d > time.Millisecond {
						l.over.Add(1)
					}
					for old := l.longest.Load(); int64(d) > old && !l.longest.CompareAndSwap(old, int64(d)); old = l.longest.Load() {
					}
				}
			}
		})
	}
	return l
}

// end stops the load and checks the counts that do not depend on the agent.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.wg.Wait()
	longest := time.Duration(l.longest.Load())
	t.Logf("%d calls, the longest %v, %d over 1ms; without a call: %d", l.calls.Load(), longest, l.over.Load(), l.idle.Load())
	if longest > callLimit {
		t.Errorf("a call took %v", longest)
	}
	if s := l.c.Stats(); s.Accepted+s.Dropped != l.calls.Load() {
		t.Errorf("%d calls, %+v", l.calls.Load(), s)
	}
}

// await waits until the client has settled all accepted data.
func (l *load) await() trace.Stats {
	waitFor(func() bool { return l.c.Stats().Queued == 0 })
	return l.c.Stats()
}

// waitFor waits until ok returns true, and reports whether it did within callLimit.
func waitFor(ok func() bool) bool {
	for start := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > callLimit {
			return false
		}
	}
	return true
}

// TestAgentStopped: while the agent is stopped, data are dropped and counted when the queue is
// full. No accepted datum is lost.
func TestAgentStopped(t *testing.T) {
	a := startCAgent(t, "")
	c := &trace.Client{Config: a.config}
	c.RequestTimeout = time.Minute
	l := startLoad(c)
	pid := a.child(t)
	signalProcess(t, pid, "STOP")
	full := waitFor(func() bool { return c.Stats().Dropped > 0 })
	signalProcess(t, pid, "CONT")
	time.Sleep(200 * time.Millisecond)
	l.end(t)
	if err := c.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	s := c.Stats()
	if got := a.total(t, "trace.point.count"); got != s.Acknowledged || s.Acknowledged != s.Accepted || !full {
		t.Errorf("the agent has %d, %+v", got, s)
	}
	t.Logf("%+v", s)
}

// TestConnectionCut: the agent has all acknowledged data, and besides them no more than those that
// count as lost.
func TestConnectionCut(t *testing.T) {
	a := startCAgent(t, "")
	p := startProxy(t, fmt.Sprint("127.0.0.1:", a.config.Port))
	c := &trace.Client{Config: trace.Config{Host: "127.0.0.1", Port: p.port, Reconnect: []time.Duration{10 * time.Millisecond}}}
	c.Logger = slog.New(slog.DiscardHandler)
	l := startLoad(c)
	for n := range uint64(20) {
		time.Sleep(50 * time.Millisecond)
		waitFor(func() bool { return c.Stats().Connects > n })
		p.cut()
	}
	l.end(t)
	s := l.await()
	got := a.total(t, "trace.point.count")
	if got < s.Acknowledged || got > s.Acknowledged+s.Lost || s.Queued != 0 || s.Connects < 20 {
		t.Errorf("the agent has %d, %+v", got, s)
	}
	t.Logf("%+v, %d arrived", s, got)
}

// TestAgentRestarted: the agent is killed and restarted.
func TestAgentRestarted(t *testing.T) {
	a := startCAgent(t, "")
	c := &trace.Client{Config: a.config}
	c.Reconnect, c.Logger = []time.Duration{20 * time.Millisecond}, slog.New(slog.DiscardHandler)
	l := startLoad(c)
	time.Sleep(200 * time.Millisecond)
	pid := a.child(t)
	signalProcess(t, pid, "KILL")
	waitFor(func() bool {
		time.Sleep(50 * time.Millisecond)
		signalProcess(t, a.PID(), "HUP") // pmcd starts it again
		time.Sleep(50 * time.Millisecond)
		child := a.child(t)
		return child != pid && child != 0
	})
	before := c.Stats().Acknowledged
	waitFor(func() bool { return c.Stats().Acknowledged >= before+1000 })
	l.end(t)
	s := l.await()
	got := a.total(t, "trace.point.count")
	if got < 1000 || got > s.Acknowledged+s.Lost || s.Queued != 0 {
		t.Errorf("the new agent has %d, %+v", got, s)
	}
	t.Logf("%+v, %d arrived at the second agent", s, got)
}

func signalProcess(t *testing.T, pid int, name string) {
	t.Helper()
	if out, err := exec.Command("kill", "-"+name, strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Fatalf("kill -%s %d: %v\n%s", name, pid, err, out)
	}
}

// A proxy forwards connections until it cuts them.
type proxy struct {
	port  int
	mu    sync.Mutex
	conns []net.Conn
}

func startProxy(t *testing.T, target string) *proxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{port: ln.Addr().(*net.TCPAddr).Port}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		p.cut()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				from.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, from, to)
			p.mu.Unlock()
			wg.Go(func() { io.Copy(to, from); to.Close() })
			wg.Go(func() { io.Copy(from, to); from.Close() })
		}
	})
	return p
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
