package main

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var allLines = flag.Bool("all", false, "run all command lines")

// oneOf is how many command lines there are for each that the usual test runs.
const oneOf = 12

// TestInteropCommandLines compares what pmlc and the real one write, for the command lines in
// testdata/pmlc.lines.
func TestInteropCommandLines(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmlogger", "pmlc")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	dir := pcptest.ShortDir(t)
	for _, sub := range []string{"run", "tmp/pmlogger"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"conf": "log mandatory on 1 hour sample.drift\n", "pmns": "root { a }\na { b 29:0:7 }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	port, closed := pcptest.FreePort(t), pcptest.FreePort(t)
	p := pcptest.Start(t, pcptest.Daemon{Path: "pmlogger", Args: []string{"-h", pmcd.Host(), "-c", filepath.Join(dir, "conf"),
		"-l", filepath.Join(dir, "log"), filepath.Join(dir, "a")}, Dir: dir, Addr: net.JoinHostPort("localhost", strconv.Itoa(port)),
		Env: []string{"PCP_TMP_DIR=" + dir + "/tmp", "PCP_RUN_DIR=" + dir + "/run", "PMLOGGER_LOCAL=1", "PMLOGGER_PORT=" + strconv.Itoa(port)}})
	pid := strconv.Itoa(p.PID())
	lines, err := toolcmp.ReadTable("testdata/pmlc.lines", map[string]string{"D": dir, "PID": pid, "PORT": strconv.Itoa(port),
		"CLOSED": strconv.Itoa(closed), "SOCKET": filepath.Join(dir, "run", "pmlogger."+pid+".socket")})
	if err != nil {
		t.Fatal(err)
	}
	r := toolcmp.Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}
	for i, l := range lines {
		if !*allLines && i%oneOf != 0 {
			continue
		}
		difference := r.Compare(t, l)
		switch {
		case l.Differs == "" && difference != "":
			t.Errorf("%s\n(-PCP +ours):\n%s", l, difference)
		case l.Differs != "" && difference == "":
			t.Errorf("%s\nno longer differs: %s", l, l.Differs)
		}
	}
}
