package main

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/tracewire"
)

// startAgent is a trace agent that counts data by kind and tag.
func startAgent(t *testing.T) (got func() map[string]int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_TRACE_HOST", "127.0.0.1")
	t.Setenv("PCP_TRACE_PORT", strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
	counts := map[string]int{}
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.Write(tracewire.Ack{Code: tracewire.Version}.Append(nil))
		for d := tracewire.NewDecoder(conn); ; {
			data, err := d.Data()
			if err != nil {
				return
			}
			counts[data.Kind.String()+" "+string(data.Tag)]++
			if data.Sync {
				conn.Write(tracewire.Ack{Code: int32(data.Kind)}.Append(nil))
			}
		}
	})
	return func() map[string]int {
		ln.Close()
		wg.Wait()
		return counts
	}
}

func TestPrograms(t *testing.T) {
	for _, tt := range []struct {
		args string
		want map[string]int
	}{
		{"", map[string]int{"transaction simple": 1, "transaction ascanbe": 1,
			"observation observe": 1, "counter counter": 1, "point imouttahere": 1}},
		{"-n 7 app2", map[string]int{"point mainloop": 7,
			"transaction time_sucker": 3, "transaction io_sucker": 2, "transaction cpu_sucker": 2}},
		{"app3", map[string]int{"transaction ptime_sucker": 10, "transaction pio_sucker": 10, "transaction pcpu_sucker": 10}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			got := startAgent(t)
			if err := run(t.Context(), strings.Fields("-second 1ms "+tt.args), io.Discard); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, got()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	got := startAgent(t)
	got()
	for _, program := range []string{"app1", "app2"} {
		if err := run(t.Context(), []string{"-second", "1ms", "-n", "1", program}, io.Discard); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v", program, err)
		}
	}
	var errs strings.Builder
	if err := run(t.Context(), []string{"app4"}, &errs); err == nil || !strings.HasPrefix(errs.String(), usage) {
		t.Errorf("%v\n%s", err, &errs)
	}
	t.Setenv("PCP_TRACE_PORT", "nonsense")
	errs.Reset()
	run(t.Context(), []string{"app4"}, &errs)
	if !strings.Contains(errs.String(), `PCP_TRACE_PORT="nonsense"`) {
		t.Error(errs.String())
	}
}
