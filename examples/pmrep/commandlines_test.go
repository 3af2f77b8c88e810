package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var (
	allLines = flag.Bool("all", false, "run all command lines, which takes minutes")
	same     = flag.Bool("same", false, "compare the real tool with itself")
)

// oneOf is how many command lines there are for each that the usual test runs.
const oneOf = 50

// TestInteropCommandLines compares what pmrep and the real one write, for the command lines in
// testdata/pmrep.lines.
func TestInteropCommandLines(t *testing.T) {
	const archives = "/var/lib/pcp/testsuite/archives"
	pcptest.Need(t, "pmcd", "pmrep", archives)
	t.Setenv("PATH", "/usr/bin"+string(filepath.ListSeparator)+os.Getenv("PATH")) // for the Python of the system
	conf, err := filepath.Abs("testdata/conf")
	if err != nil {
		t.Fatal(err)
	}
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	lines, err := toolcmp.ReadTable("testdata/pmrep.lines", map[string]string{"A": archives, "C": conf, "H": pmcd.Host(), "CLOSED": "localhost:1"})
	if err != nil {
		t.Fatal(err)
	}
	r := toolcmp.Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}
	if *same {
		r.Program = func(tool string) string { return pcptest.Tool(t, tool) }
	}
	for i, l := range lines {
		if !*allLines && i%oneOf != 0 {
			continue
		}
		difference := r.Compare(t, l)
		switch {
		case l.Differs == "" && difference != "":
			t.Errorf("%s\n(-PCP +ours):\n%s", l, difference)
		case l.Differs != "" && difference == "" && !*same:
			t.Errorf("%s\nno longer differs: %s", l, l.Differs)
		}
	}
}
