package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/tool/report"
)

// oneOfSets is how many of the sets of metrics that PCP ships there are for each of which the usual test compares a report.
const oneOfSets = 12

// TestInteropShippedSets reads the sets of metrics that PCP ships, and compares their headers, and samples of an archive, with those of
// the real pmrep.
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
	ours := pcptest.Build(t, "./examples/pmrep")
	env := []string{"PCP_DERIVED_CONFIG=/etc/pcp/derived"}
	for i, set := range sets {
		o := report.NewOptions()
		specs, err := config.Specs([]string{":" + set}, true)
		if applied := config.Apply(&o, set); err != nil || applied != nil || len(specs) == 0 {
			t.Errorf("%s: %d metrics, errors %v and %v", set, len(specs), err, applied)
		}
		if !*allLines && i%oneOfSets != 0 {
			continue
		}
		for _, args := range [][]string{
			{"-C", "-h", pmcd.Host(), ":" + set},
			{"-a", "/var/lib/pcp/testsuite/archives/20130706", "-t", "1min", "-s", "4", ":" + set},
		} {
			run := func(program string) [3]any {
				stdout, stderr, status := pcptest.Run(t, env, "", append([]string{program}, args...)...)
				return [3]any{stdout, stderr, status}
			}
			if diff := cmp.Diff(run("pmrep"), run(ours)); diff != "" {
				t.Errorf("pmrep %v (-PCP +ours):\n%s", args, diff)
			}
		}
	}
}

// BenchmarkInteropVMStat reports :vmstat of an archive, with our pmrep and PCP's. The time of a sample includes its share of the start.
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
