package pmdumplog

import (
	"flag"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
)

var all = flag.Bool("all", false, "compare the dumps of all archives of PCP's test suite, which takes minutes, and not only of short ones")

// TestArchives compares what PCP's tool and ours print of archives.
func TestArchives(t *testing.T) {
	toolcmp.Archives(t, "pmdumplog", []string{"-aehI", "-L", "-itdme", "-rxxx"}, *all, map[string]string{
		"* badarchives/archive-20150417.131733": "PCP does not find the last complete record",
		"* badarchives/badti-4":                 "PCP fails with a wrong index, which is not needed",
		"* archives/binning":                    "PCP cannot go back from the end of an archive if the index has a wrong offset",
		"* archives/pcp-mpstat3":                "the same",
		"-rxxx badarchives/badti-3":             "the same",
		"-rxxx badarchives/20180608.04.23-01":   "the same",
	})
}
