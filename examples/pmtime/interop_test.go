package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// row is a row of values of pmval, or of pmstat.
var row = regexp.MustCompile(`(?m)^(\d\d:\d\d:| +\d+\.\d\d ).*\n`)

const archives = "/var/lib/pcp/testsuite/archives/"

// TestInteropStarted has PCP's tools start our server, with -g, and compares what they print with
// what they print without one.
func TestInteropStarted(t *testing.T) {
	pcptest.Need(t, "pmval", "pmstat", archives)
	path := filepath.Dir(pcptest.Build(t, "./examples/pmtime")) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, tt := range []struct{ name, args, last string }{
		{"values", "pmval -a " + archives + "ok-foo -t 2sec sample.bin", "\n[Time Control] End of Archive ...\n"},
		{"window", "pmval -a " + archives + "ok-foo -S 1sec -T 5sec -i bin-100 sample.bin", ""},
		{"rates", "pmval -a " + archives + "ok-mv-foo -t 1500msec sample.seconds", "\n[Time Control] End of Archive ...\n"},
		{"pmstat", "pmstat -a " + archives + "20180416.10.00 -t 10min", "\n[Time Control] End of Archive ...\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := strings.Fields(tt.args)
			want, _, _ := pcptest.Run(t, nil, "", args...)
			got, errs, _ := pcptest.Run(t, []string{"PATH=" + path}, "", append(args, "-g")...)
			if len(row.FindAllString(want, -1)) < 3 {
				t.Fatalf("no rows without a server:\n%s", want)
			}
			if diff := cmp.Diff(row.FindAllString(want, -1), row.FindAllString(got, -1)); diff != "" || !strings.HasSuffix(got, tt.last) {
				t.Errorf("rows without a server (-) and with it (+):\n%s%s%s", diff, got, errs)
			}
		})
	}
}
