package pmstat

import (
	"flag"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "compare what is printed of all archives of PCP's test suite, which takes minutes, and not only of short ones")

// TestArchives compares what PCP's pmstat and ours print of archives.
func TestArchives(t *testing.T) {
	options := []string{"-s 30 -a", "-t 1 -S +10 -s 5 -z -a"}
	differs := map[string]string{}
	for _, name := range []string{"diff1", "diff2", "log-derived", "pcp-uptime", "rep", "section-c"} {
		differs["* archives/"+name] = "PCP before 7 repeats that there is no data"
	}
	if *all {
		const (
			reversed = "PCP takes the bytes of 64-bit values in the wrong order if the type in their block is missing"
			damaged  = "PCP finds damaged records at other requests"
		)
		options = append(options, "-t 60 -s 10 -l -a", "-t 0.25 -s 25 -Z EST5EDT -a", "-A 10sec -t 10 -s 6 -a", "-t 1hour -s 30 -a", "-O -30sec -t 7 -s 8 -a", "-S 30 -T +2min -t 7 -s 1 -a")
		differs["* archives/960624.08.17_v2"] = reversed
		differs["* archives/babylon.pmview_v2"] = reversed
		differs["* badarchives/archive-20141125-000009"] = damaged
		differs["* badarchives/archive-20150417.131733"] = damaged
		differs["* badarchives/logsummary-bug"] = damaged
	}
	toolcmp.Archives(t, "pmstat", options, *all, differs)
}

// TestInteropTerminal compares how many rows there are below a header on terminals.
func TestInteropTerminal(t *testing.T) {
	pcptest.Need(t, "pmstat", "script", "stty")
	ours := pcptest.Build(t, "./examples/pmstat")
	for _, rows := range []string{"10", "2", "24"} {
		print := func(program string) string {
			command := "stty rows " + rows + "; " + program + " -a testdata/archive/host -t 0.2 -s 30"
			stdout, stderr, status := pcptest.Run(t, nil, "", "script", "-qec", command, "/dev/null")
			return fmt.Sprint(stdout, stderr, status)
		}
		if diff := cmp.Diff(print("pmstat"), print(ours)); diff != "" {
			t.Errorf("%s rows (-PCP +ours):\n%s", rows, diff)
		}
	}
}
