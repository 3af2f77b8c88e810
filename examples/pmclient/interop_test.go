package main

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInterop compares the layout of what PCP's pmclient and ours print of this computer.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "pmclient", "pmcd")
	ours := pcptest.Build(t, "./examples/pmclient")
	host := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux"}}).Host()
	bare := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}}).Host()
	date := regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`)
	cell := regexp.MustCompile(` *\b\d+(\.\d+)?`)
	for _, args := range [][]string{{"-h", host, "-s", "17"}, {"-h", host, "-s", "1", "-z"}, {"-h", host, "-s", "2", "-Z", "EST5EDT"}, {"-h", bare}} {
		args = append(args, "-t", "50msec")
		layout := func(program string) (parts [3]any) {
			stdout, stderr, status := pcptest.Run(t, nil, "", append([]string{program}, args...)...)
			stdout = date.ReplaceAllString(stdout, "DATE")
			return [3]any{cell.ReplaceAllStringFunc(stdout, func(s string) string {
				if len(s) > 3 { // a column, not a number in a header
					return "N"
				}
				return s
			}), stderr, status}
		}
		if diff := cmp.Diff(layout("pmclient"), layout(ours)); diff != "" {
			t.Errorf("pmclient %v (-PCP +ours):\n%s", args, diff)
		}
	}
}
