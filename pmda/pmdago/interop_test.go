package pmdago_test

import (
	"context"
	"expvar"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdago/goexpvar"
)

// newAgent returns an agent with every option and with the variables of expvar.
func newAgent(t *testing.T) *pmda.Agent {
	t.Helper()
	a := pmdago.New(pmdago.Options{CommandLine: true})
	if err := goexpvar.Add(a, "go.expvar"); err != nil {
		t.Fatal(err)
	}
	return a
}

// serve serves this process to tools, and returns the argument for their option -h.
func serve(t *testing.T) string {
	t.Helper()
	a := newAgent(t)
	s := &collector.Server{}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "localhost:" + ln.Addr().String()[len("127.0.0.1:"):]
}

// run runs a tool, which must succeed.
func run(t *testing.T, argv ...string) string {
	t.Helper()
	// pmrep needs the system's Python.
	out, errs, status := pcptest.Run(t, []string{"PATH=/usr/bin:/bin:" + os.Getenv("PATH")}, "", argv...)
	if status != 0 || errs != "" {
		t.Errorf("%q: status %d\n%s%s", argv, status, out, errs)
	}
	return out
}

// lacks matches what tools print about an agent that breaks its contract.
var lacks = regexp.MustCompile(`(?m)^.*(Error|Unknown|Missing|missing|Bogus|One-line Help: Error).*$`)

// publish runs once, because expvar variables cannot be removed.
var publish = sync.OnceFunc(func() {
	n := expvar.NewInt("interop.number")
	n.Set(42)
	m := expvar.NewMap("interop map")
	m.Add("GET /", 3)
	m.Add("POST /", 4)
	expvar.Publish("interop.doc", expvar.Func(func() any { return map[string]any{"a": 1.5, "b": map[string]any{"c": "text"}} }))
})

// TestTools reads all metrics with PCP's tools.
func TestTools(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmval", "pmprobe")
	publish()
	runtime.GC()
	host := serve(t)
	all := run(t, "pminfo", "-h", host, "-dmtTlf", "go")
	for _, line := range lacks.FindAllString(all, -1) {
		if !strings.Contains(line, "No value(s)") && !strings.Contains(line, "non_default_behavior") {
			t.Errorf("pminfo: %s", line)
		}
	}
	for _, want := range []string{"go.gc.heap.allocs_bytes PMID: 490.0.22", `inst [0 or "p50"]`, `labels {`, `"ge":`, "go.expvar.interop_number PMID", `or "GET_/"] value 3`, "go.expvar.interop_doc.b.c"} {
		if !strings.Contains(all, want) {
			t.Errorf("pminfo does not say %s", want)
		}
	}
	if out := run(t, "pmval", "-h", host, "-s", "2", "-t", "0.1", "go.goroutines"); !regexp.MustCompile(`(?m)^\s+\d+\s*$`).MatchString(out) {
		t.Errorf("pmval: %s", out)
	}
	if out := run(t, "pmval", "-h", host, "-s", "1", "go.expvar.interop_number"); !strings.Contains(out, "42") {
		t.Errorf("pmval: %s", out)
	}
	for _, name := range []string{"go.gc.heap.allocs_by_size_bytes.buckets", "go.sched.latencies_seconds.recent", "go.expvar.interop_map", "go.build.setting"} {
		run(t, "pmval", "-h", host, "-s", "1", "-t", "0.1", name)
	}
	// A name and an instance that appear while a client is connected.
	if out := run(t, "pmprobe", "-h", host, "-I", "go.expvar.interop_map"); !strings.Contains(out, `"GET_/" "POST_/"`) {
		t.Errorf("pmprobe: %s", out)
	}
	later := fmt.Sprintf("interop_later_%d", time.Now().UnixNano())
	expvar.NewString(later).Set("here")
	if out := run(t, "pminfo", "-h", host, "-f", "go.expvar."+later); !strings.Contains(out, `value "here"`) {
		t.Errorf("pminfo: %s", out)
	}
}

// TestReport checks that pmrep reports a distribution.
func TestReport(t *testing.T) {
	pcptest.Need(t, "pmrep")
	runtime.GC()
	host := serve(t)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // something to count
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	out := run(t, "pmrep", "-h", host, "-s", "3", "-t", "0.2", "go.sched.latencies_seconds.quantiles", "go.gc.heap.allocs_by_size_bytes.buckets")
	for _, want := range []string{"p99", "count/s"} {
		if !strings.Contains(out, want) {
			t.Errorf("pmrep does not say %s:\n%s", want, out)
		}
	}
	out = run(t, "pmrep", "-h", host, "-s", "2", "-t", "0.2", "-o", "csv", "-i", "p50,max", "go.sched.latencies_seconds.recent")
	if !regexp.MustCompile(`"go\.sched\.latencies_seconds\.recent-p50","go\.sched\.latencies_seconds\.recent-max"`).MatchString(out) {
		t.Errorf("pmrep: %s", out)
	}
}

// TestUnderPMCD serves this process to the C pmcd through a socket.
func TestUnderPMCD(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	publish()
	a := newAgent(t)
	path := filepath.Join(pcptest.ShortDir(t), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			err = pmda.Serve(context.Background(), a, conn)
			conn.Close()
		}
		done <- err
	}()
	t.Cleanup(func() { // after pmcd has ended
		ln.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	var names strings.Builder
	if _, err := a.Namespace().WriteTo(&names); err != nil {
		t.Fatal(err)
	}
	host := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{"go 490 socket unix " + path}, PMNS: names.String()}).Host()
	for name, want := range map[string]string{
		"go.goroutines": "value ", "go.sched.latencies_seconds.buckets": `or "0s-64ns"] value`, "go.process.pid": fmt.Sprint(os.Getpid()),
		"go.expvar": "go.expvar.interop_doc.a\n    value 1.5", "go.expvar.interop_map": `inst [0 or "GET_/"] value 3`,
	} {
		if out := run(t, "pminfo", "-h", host, "-f", name); !strings.Contains(out, want) {
			t.Errorf("%s: want %s, got %s", name, want, out)
		}
	}
	for _, line := range lacks.FindAllString(run(t, "pminfo", "-h", host, "-dmtTlf", "go"), -1) {
		if !strings.Contains(line, "No value(s)") && !strings.Contains(line, "non_default_behavior") {
			t.Errorf("pminfo: %s", line)
		}
	}
}
