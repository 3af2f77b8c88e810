package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestStarted has our tools start the server, and compares the rows that they print with what they
// print without.
func TestStarted(t *testing.T) {
	env := []string{"PATH=" + filepath.Dir(pcptest.Build(t, "./examples/pmtime")) + string(os.PathListSeparator) + os.Getenv("PATH")}
	for _, tt := range []struct{ tool, args string }{
		{"pmval", "-t 250msec ../../archive/testdata/v3/sample.bin"},
		{"pmstat", "-t 2 -a ../internal/pmstat/testdata/archive/host"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			args := append([]string{pcptest.Build(t, "./examples/"+tt.tool)}, strings.Fields(tt.args)...)
			want, _, _ := pcptest.Run(t, env, "", args...)
			got, errs, status := pcptest.Run(t, env, "", slices.Insert(args, 1, "-g")...)
			rows := regexp.MustCompile(`(?m)^(\d\d:| +\d+\.\d\d ).*\n`)
			if diff := cmp.Diff(rows.FindAllString(want, -1), rows.FindAllString(got, -1)); diff != "" || len(rows.FindAllString(got, -1)) < 3 {
				t.Errorf("rows without a server (-) and with it (+):\n%s", diff)
			}
			exited := "\n" + tt.tool + ": Time Control dialog exited, goodbye.\n"
			if end := "\n[Time Control] End of Archive ...\n"; !strings.HasSuffix(got, end) || errs != exited || status != 1 {
				t.Errorf("exit status %d, %q\n%s\nwant it to end with %q", status, errs, got, end)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	program := pcptest.Build(t, "./examples/pmtime")
	for _, tt := range []struct{ args, want string }{
		{"-t x", "pmtime: -t argument not in pmParseInterval(3) format:"},
		{"-x 0", "pmtime: -x requires a positive numeric argument"},
		{"-n 0", "pmtime: -n requires a positive numeric argument"},
		{"-p x", "pmtime: -p requires a port number"},
		{"x", "pmtime: too many arguments"},
		{"-p 99999", "pmtime: cannot listen: "},
	} {
		out, errs, status := pcptest.Run(t, nil, "", append([]string{program}, strings.Fields(tt.args)...)...)
		if status != 1 || out != "" || !strings.HasPrefix(errs, tt.want) {
			t.Errorf("pmtime %s: exit status %d, %s%s", tt.args, status, out, errs)
		}
	}
}
