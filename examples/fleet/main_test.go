package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// startHosts starts collectors, whose load is 0, 1, 2, ..., and returns where they listen.
func startHosts(t *testing.T, n int) (addrs []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	for i := range n {
		a := &pmda.Agent{Name: "linux", Domain: 60}
		pmda.Register(a, pmda.Metric[float64]{Name: "kernel.all.load", InDom: a.AddInDom("load", "1 minute"),
			Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) { return float64(i), nil }})
		pmda.Register(a, pmda.Metric[uint64]{Name: "mem.physmem", Units: pdu.SpaceKByte,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 100, nil }})
		pmda.Register(a, pmda.Metric[uint64]{Name: "mem.util.available", Units: pdu.SpaceKByte,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return uint64(10 * i), nil }})
		srv := &collector.Server{Logger: slog.New(slog.DiscardHandler)}
		if err := srv.Add(a); err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, ln.Addr().String())
		go func() { served <- srv.Serve(ctx, ln) }()
	}
	t.Cleanup(func() {
		cancel()
		for range n {
			<-served
		}
	})
	return addrs
}

// freeAddr is where nothing listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestPlain: without a terminal, there are rows, of the hosts of the command line and of a file.
func TestPlain(t *testing.T) {
	addrs := startHosts(t, 4)
	down := freeAddr(t)
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, fmt.Appendf(nil, "# hosts\n\n%s\n%s\n", addrs[0], addrs[1]), 0o666); err != nil {
		t.Fatal(err)
	}
	program := pcptest.Build(t, "./examples/fleet")
	derived := filepath.Join(t.TempDir(), "derived")
	if err := os.WriteFile(derived, []byte("mem.twice = 2 * mem.physmem\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG="+derived)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	first := run("-s", "1", "-t", "20", "-l", "3", "-H", file, addrs[2], addrs[3], down) // which waits for connections
	for _, want := range []string{
		`5 hosts: 4 up, 1 down`,
		`\nhost +\*load +cpu % +memory %\n`,
		`\n` + addrs[3] + ` +3.00 +\? +70.00\n` + addrs[2] + ` +2.00 +\? +80.00\n` + addrs[1] + ` +1.00 +\? +90.00\n\n`,
		`\n` + down + ` +down since .*refused.*\n`,
		`\n` + addrs[0] + ` +fleet.cpu: operand kernel.all.cpu.idle: Unknown operand metric\nand 3 more\n`,
	} {
		if !regexp.MustCompile(want).MatchString(first) {
			t.Errorf("want %s:\n%s", want, first)
		}
	}
	other := run("-s", "1", "-t", "20", "-l", "1", "-r", "-k", "2", "-m", "mem.physmem", "-e", "free=mem.util.available", "-m", "mem.twice", addrs[0], addrs[3])
	if !regexp.MustCompile(`\nhost +physmem +\*free +twice\n` + addrs[0] + ` +100.00 +0.00 +200.00\n`).MatchString(other) {
		t.Error(other)
	}
}

// TestUsage: command lines that are wrong.
func TestUsage(t *testing.T) {
	program := pcptest.Build(t, "./examples/fleet")
	for _, tt := range []struct{ args, want string }{
		{"", "fleet: no hosts\nUsage: fleet "},
		{"-k 4 a", "fleet: there is no column 4\nUsage: "},
		{"-l 0 a", "fleet: -l requires a positive number\nUsage: "},
		{"-m x:y a", "fleet: x:y: hosts are arguments of their own\nUsage: "},
		{"-e x a", "fleet: x: want LABEL=EXPRESSION\nUsage: "},
		{"-e x=( a", `fleet: derived metric fleet.column0: "(" at byte 0: `},
		{"a a", "fleet: pmapi: add on a: the fleet has this host already"},
		{"-H /nosuch/file", "cannot open hosts file /nosuch/file"},
	} {
		out, err := exec.Command(program, strings.Fields(tt.args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("fleet %s: %v, %s, want %s", tt.args, err, out, tt.want)
		}
	}
}
