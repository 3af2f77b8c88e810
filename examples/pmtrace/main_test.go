package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tracewire"
)

// startAgent is a trace agent that keeps the data of all connections.
func startAgent(t *testing.T) (port int, got func() []string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	var data []string
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.Write(tracewire.Ack{Code: tracewire.Version}.Append(nil))
			for dec := tracewire.NewDecoder(conn); ; {
				d, err := dec.Data()
				if err != nil {
					break
				}
				if d.Kind == tracewire.KindTransaction {
					d.Value = 0 // a time
				}
				data = append(data, fmt.Sprintf("%v %s %v %t", d.Kind, d.Tag, d.Value, d.Sync))
			}
			conn.Close()
		}
	})
	return ln.Addr().(*net.TCPAddr).Port, func() []string {
		ln.Close()
		wg.Wait()
		return data
	}
}

var commandLines = [][]string{
	{"pt"}, {"-q", "pt"}, {"-v", "1.5", "o"}, {"-c", "0x10", "o"}, {"-e", "true", "t"}, {"-q", "-e", "true", "t"},
	{}, {"a", "b"}, {"-S", "x", "t"}, {"-c", "1", "-v", "2", "t"}, {"-v", "2x", "t"}, {"-S", "16", "t"}, {"-h", "127.0.0.1", "t"},
	{"-?"},
}

// outputs are those of all command lines.
func outputs(t *testing.T, port int, run func(env []string, args []string) string) []string {
	t.Helper()
	env := []string{"PCP_TRACE_HOST=127.0.0.1", "PCP_TRACE_PORT=" + strconv.Itoa(port)}
	var all []string
	for _, args := range commandLines {
		all = append(all, fmt.Sprintf("%q: %s", args, run(env, args)))
	}
	return all
}

// TestInterop compares output and data with those of C's pmtrace.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "pmtrace")
	c := func(env, args []string) string {
		out, errs, status := pcptest.Run(t, env, "", append([]string{"pmtrace"}, args...)...)
		if strings.Contains(fmt.Sprint(args), "-S 16") {
			errs = "" // what is logged differs
		}
		return fmt.Sprintf("%s%s%d", out, errs, status)
	}
	ours := func(env, args []string) string {
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			t.Setenv(name, value)
		}
		var out, errs strings.Builder
		status := run(t.Context(), args, &out, &errs)
		return fmt.Sprintf("%s%s%d", &out, &errs, status)
	}
	port, data := startAgent(t)
	want := append(outputs(t, port, c), data()...)
	port, data = startAgent(t)
	got := append(outputs(t, port, ours), data()...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-C +ours):\n%s", diff)
	}
	if diff := cmp.Diff(outputs(t, port, c), outputs(t, port, ours)); diff != "" {
		t.Errorf("without an agent (-C +ours):\n%s", diff)
	}
}

// TestStatus: the manual promises the status of the command, which C does not keep.
func TestStatus(t *testing.T) {
	port, data := startAgent(t)
	t.Setenv("PCP_TRACE_PORT", strconv.Itoa(port))
	var out, errs strings.Builder
	for command, want := range map[string]int{"exit 3": 3, "kill -9 $$": 137} {
		if status := run(t.Context(), []string{"-q", "-e", command, "t"}, &out, &errs); status != want || out.Len()+errs.Len() > 0 {
			t.Errorf("%s: %d %s%s, want %d", command, status, &out, &errs, want)
		}
	}
	if got := data(); len(got) != 2 || got[0] != "transaction t 0 false" {
		t.Errorf("%q", got)
	}
}
