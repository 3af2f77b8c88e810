package toolcmp

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var (
	same = flag.Bool("same", false, "compare the tools of the real PCP with themselves")
	all  = flag.Bool("all", false, "run all command lines, and not only a part of them")
)

// Without -all, one in oneIn lines of a table is run. Tables whose lines depend on the lines before
// them are run whole.
const oneIn = 10

// sampled are the lines that are run.
func sampled(table string, lines []Line) (some []Line) {
	if *all || table == "pmstore" {
		return lines
	}
	for i := 0; i < len(lines); i += oneIn {
		some = append(some, lines[i])
	}
	return some
}

// mostDiffering is how many of a hundred lines may differ on purpose. Most of them differ where the
// tools follow PCP 7.
const mostDiffering = 2

func TestMain(m *testing.M) {
	pcptest.Crowd()
	os.Exit(m.Run())
}

func TestCommandLines(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe", "pmval", "pmevent", "pmstore", "pmerr", "pmclient", "pmstat", "pmdumplog", "pmloglabel", "pmlogsize", "pmlogsummary", "pmlogcheck",
		"pmgetopt", "pcp", "pcp-free", "pcp-uptime", "pcp-vmstat", "pcp-iostat", "pmiostat", "pmrep", "pcp2csv", testSuite+"/archives")
	vars := variables(t)
	csv := filepath.Join(t.TempDir(), "pcp2csv") // another name of pmrep
	if err := os.Symlink(pcptest.Build(t, "./examples/pmrep"), csv); err != nil {
		t.Fatal(err)
	}
	r := Runner{Program: func(tool string) string {
		if tool == filepath.Base(csv) {
			return csv
		}
		return pcptest.Build(t, "./examples/"+tool)
	}}
	if *same {
		r.Program = func(tool string) string { return tool }
	}
	tables, err := filepath.Glob("testdata/*.lines")
	if err != nil || tables == nil {
		t.Fatalf("no tables: %v", err)
	}
	count, differing := 0, 0
	for _, table := range tables {
		lines, err := ReadTable(table, vars)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			count++
			if l.Differs != "" {
				differing++
			}
		}
		name := strings.TrimSuffix(filepath.Base(table), ".lines")
		alone := slices.ContainsFunc(lines, func(l Line) bool { return l.Before != nil }) || name == "pmstore"
		t.Run(name, func(t *testing.T) {
			if !alone { // the others change what lines see
				t.Parallel()
			}
			compare(t, &r, sampled(name, lines))
		})
	}
	if differing*100 > count*mostDiffering {
		t.Errorf("%d of %d lines differ on purpose, more than %d %%", differing, count, mostDiffering)
	}
}

func compare(t *testing.T, r *Runner, lines []Line) {
	for _, l := range lines {
		diff := r.Compare(t, l)
		switch {
		case *same && diff != "":
			t.Errorf("%s\ntwo runs of the real tool differ (-first +second):\n%s", l, diff)
		case *same:
		case l.Differs == "" && diff != "":
			t.Errorf("%s\n(-PCP +ours):\n%s", l, diff)
		case l.Differs != "" && diff == "":
			t.Errorf("%s\nno longer differs: %s", l, l.Differs)
		}
	}
}

// variables are those of the tables: collectors, specifications of others that are not there, and
// name spaces.
func variables(t *testing.T) map[string]string {
	sample := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	linux := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux"}})
	several := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux", "proc", "sample"}})
	bare := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"H":       sample.Host(),               // agents pmcd and sample
		"UNIX":    "unix://" + sample.Socket(), // the same
		"LINUX":   linux.Host(),                // agents pmcd and linux
		"S":       several.Host(),              // agents pmcd, linux, proc and sample
		"BARE":    bare.Host(),                 // agent sample
		"CLOSED":  "localhost:1",               // nobody listens
		"A":       testSuite + "/archives",     // PCP's test archives
		"B":       testSuite + "/badarchives",  // damaged ones
		"NAMES":   testdata + "/names",         // directory of name spaces
		"USAGE":   testdata + "/usage",         // directory of usage messages, for pmgetopt
		"DERIVED": testdata + "/derived",       // directory of definitions of derived metrics
	}
}
