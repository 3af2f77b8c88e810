package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "compare all windows of all archives, and not only some")

// TestInteropArchiveEnd compares where both stop at the end of an archive: intervals that reach the
// end exactly, pass it or exceed the archive, samples beyond it, and windows and origins near it.
func TestInteropArchiveEnd(t *testing.T) {
	const archives = "/var/lib/pcp/testsuite/archives/"
	pcptest.Need(t, "pmval", archives)
	ours := pcptest.Build(t, "./examples/pmval")
	for i, test := range []struct{ archive, metric, step string }{
		{"ok-foo", "sample.seconds", "1"},                     // one volume
		{"ok-mv-bar", "sampledso.milliseconds", "700msec"},    // several volumes
		{"gap", "pmcd.pdu_in.result", "3"},                    // values are missing for a while
		{"interpmark", "disk.dev.total_bytes", "7"},           // marks
		{"pmiostat_mark", "pmcd.pmie.eval.true", "1299.5sec"}, // a mark near the end
	} {
		for j, options := range []string{
			"-t STEP",
			"-t STEP -s 1000",
			"-t STEP -s 3 -S -5",
			"-t STEP -S -2.5",
			"-t STEP -T -1.0015",
			"-t STEP -O -0.001",
			"-t STEP -O -0",
			"-t 10days",
			"-r -t STEP -A STEP -T +1hour",
		} {
			if !*all && (i+j)%4 != 0 {
				continue
			}
			args := strings.Fields("-z -a " + archives + test.archive + " " + strings.ReplaceAll(options, "STEP", test.step) + " " + test.metric)
			if diff := cmp.Diff(runProgram(t, "pmval", args...), runProgram(t, ours, args...)); diff != "" {
				t.Errorf("pmval %s (-PCP +ours):\n%s", strings.Join(args, " "), diff)
			}
		}
	}
}
