package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "compare the dumps of all archives of PCP's test suite, which takes minutes, and not only of short ones")

// short is how many bytes the files of an archive have that is compared without -all.
const short = 6 << 10

const testsuite = "/var/lib/pcp/testsuite"

// differs has the archives whose dump differs from that of PCP's tool on purpose.
var differs = map[string]string{
	"archives/960624.08.17_v2":               "PCP prints 64-bit values with their bytes reversed if the type in their block is missing",
	"archives/babylon.pmview_v2":             "the same",
	"archives/bozo.client_v2":                "the same",
	"badarchives/archive-20150417.131733":    "PCP does not find the last complete record",
	"badarchives/badlen-11":                  "one byte after the last record is a record cut short",
	"badarchives/badti-4":                    "PCP fails with a wrong index, which is not needed",
	"archives/binning -r":                    "PCP cannot go back from the end of an archive if the index has a wrong offset",
	"archives/pcp-mpstat3 -r":                "the same",
	"badarchives/badti-3 -r":                 "the same",
	"badarchives/20180608.04.23-01 -r":       "the same",
	"badarchives/badlog-3 -r":                "PCP ends at a record that is before its predecessor in time",
	"badarchives/archive-20150417.131733 -r": "the end is not found",
}

// TestArchives compares what PCP's tool and ours print of archives.
func TestArchives(t *testing.T) {
	pcptest.Need(t, "pmdumplog", testsuite+"/archives")
	ours := pcptest.Build(t, "./examples/pmdumplog")
	names := archives(t)
	compared := 0
	for _, name := range names {
		for _, options := range []string{"-aehI", "-rxxx"} {
			want, wantErrs, wantStatus := pcptest.RunIn(t, testsuite, nil, "", "pmdumplog", options, name)
			got, gotErrs, gotStatus := pcptest.RunIn(t, testsuite, nil, "", ours, options, name)
			same := want == got && wantErrs == gotErrs && wantStatus == gotStatus
			key := name
			if strings.HasPrefix(options, "-r") && differs[name] == "" {
				key += " -r"
			}
			reason, known := differs[key]
			switch {
			case !same && !known:
				t.Errorf("pmdumplog %s %s: status %d, want %d\nstandard error %q, want %q\n%s",
					options, name, gotStatus, wantStatus, gotErrs, wantErrs, firstDifference(want, got))
			case same && known && strings.HasSuffix(key, options[:2]):
				t.Errorf("pmdumplog %s %s no longer differs: %s", options, name, reason)
			}
			compared++
		}
	}
	if compared < 100 {
		t.Errorf("%d dumps compared", compared)
	}
}

// archives are the names of those that are compared.
func archives(t *testing.T) (names []string) {
	t.Helper()
	sizes := map[string]int64{}
	for _, pattern := range []string{"archives/*.*", "archives/multi*/*.*", "badarchives/*.*"} {
		files, err := filepath.Glob(filepath.Join(testsuite, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(testsuite, file)
			if base, _, ok := strings.Cut(name, ".meta"); ok {
				names = append(names, base)
				name = name[:len(base)] // and its volumes below
			}
			for _, suffix := range []string{".xz", ".bz2", ".gz", ".lzma"} {
				name = strings.TrimSuffix(name, suffix)
			}
			if ext := filepath.Ext(name); ext == ".index" || strings.Trim(ext, ".0123456789") == "" {
				name = strings.TrimSuffix(name, ext)
			}
			sizes[name] += info.Size()
		}
	}
	if *all {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return sizes[name] > short })
}

// firstDifference is the first line that differs.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "line " + w[i] + "\n ours " + g[i]
		}
	}
	return "one is shorter"
}
