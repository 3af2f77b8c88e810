package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/pcptool/report"
	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// Without -all, one in oneOfSets of the sets of metrics that PCP ships is tested.
const oneOfSets = 12

// TestInteropShippedSets reads the sets of metrics that PCP ships, and compares what is reported of
// them with the report of the real pmrep.
func TestInteropShippedSets(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmrep", "/etc/pcp/pmrep", "/var/lib/pcp/testsuite/archives")
	t.Setenv("PATH", "/usr/bin"+string(filepath.ListSeparator)+os.Getenv("PATH")) // for the Python of the system
	config, err := report.LoadConfig("/etc/pcp/pmrep")
	if err != nil {
		t.Fatal(err)
	}
	sets := config.Sets()
	if len(sets) < 50 {
		t.Fatalf("there are %d sets", len(sets))
	}
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux", "proc"}})
	r := toolcmp.Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}
	if *same {
		r.Program = func(tool string) string { return pcptest.Tool(t, tool) }
	}
	vars := map[string]string{"A": "/var/lib/pcp/testsuite/archives", "H": pmcd.Host()}
	for i, set := range sets {
		o := report.NewOptions()
		specs, err := config.Specs([]string{":" + set}, true)
		if applied := config.Apply(&o, set); err != nil || applied != nil || len(specs) == 0 {
			t.Errorf("%s: %d metrics, errors %v and %v", set, len(specs), err, applied)
		}
		if !*allLines && i%oneOfSets != 0 {
			continue
		}
		shippedSet(t, &r, set, vars)
	}
}

// shippedSet compares reports of a set: its headers, rows of a collector, with the process 1 for
// sets of processes, and rows of archives.
func shippedSet(t *testing.T, r *toolcmp.Runner, set string, vars map[string]string) {
	table := filepath.Join(t.TempDir(), "lines")
	text := strings.ReplaceAll(`%env PCP_DERIVED_CONFIG=/etc/pcp/derived
pmrep -C -h $H :SET
pmrep -z -a $A/20130706 -t 1min -s 4 :SET
pmrep -z -a $A/pcp-zeroconf -t 20 -s 4 :SET
pmrep -z -o csv -a $A/pcp-zeroconf -t 10 -s 3 :SET
%mask time numbers
pmrep -h $H -t .5 -s 3 LIMIT:SET
`, "SET", set)
	limit := ""
	if strings.HasPrefix(set, "proc") || strings.HasPrefix(set, "pidstat") {
		limit = "-i '0*1 .*' "
	}
	text = strings.Replace(text, "LIMIT", limit, 1)
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := toolcmp.ReadTable(table, vars)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if diff := r.Compare(t, l); diff != "" {
			t.Errorf("%s\n(-PCP +ours):\n%s", l, diff)
		}
	}
}

// BenchmarkInteropVMStat reports :vmstat of an archive, with our pmrep and PCP's. The time of a
// sample includes its share of the start.
func BenchmarkInteropVMStat(b *testing.B) {
	const archive, samples = "/var/lib/pcp/testsuite/archives/pcp-zeroconf", 3000
	pcptest.Need(b, "pmrep", "/etc/pcp/pmrep", "/var/lib/pcp/testsuite/archives")
	b.Setenv("PATH", "/usr/bin"+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, program := range map[string]string{"PCP": "pmrep", "Go": pcptest.Build(b, "./examples/pmrep")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, stderr, status := pcptest.Run(b, nil, "", program, "-a", archive, "-t", "0.1", "-s", strconv.Itoa(samples), ":vmstat")
				if status != 0 {
					b.Fatal(stderr)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*samples), "µs/sample")
		})
	}
}
