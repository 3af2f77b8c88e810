package toolcmp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// testSuite is the directory of PCP's test suite.
const testSuite = "/var/lib/pcp/testsuite"

// shortArchive is the maximum size of an archive's files in bytes for a comparison that is not
// complete.
const shortArchive = 6 << 10

// Crash is the reason for a difference that keeps the real tool from being run.
const Crash = "PCP's tool crashes"

// Archives compares the output of the real tool and ours for the archives of PCP's test suite: for
// short ones, or for all, which takes minutes. Each element of options is the options of a run.
//
// differs maps intended differences to their reasons. A key is the options and the name of the
// archive with a blank between them. "*" stands for all options. A difference that no longer exists
// is an error, except with "*".
func Archives(t *testing.T, tool string, options []string, all bool, differs map[string]string) {
	t.Helper()
	pcptest.Need(t, tool, testSuite+"/archives")
	ours := pcptest.Build(t, "./examples/"+tool)
	compared := 0
	for _, name := range archiveNames(t, all) {
		for _, o := range options {
			run := func(program string) (all string) {
				stdout, stderr, status := pcptest.RunIn(t, testSuite, nil, "", append(append([]string{program}, strings.Fields(o)...), name)...)
				return fmt.Sprintf("%sstandard error:\n%sexit status: %d\n", maskPresent(stdout), stderr, status)
			}
			reason, onPurpose := differs[o+" "+name]
			if reason == Crash {
				continue
			}
			_, anyway := differs["* "+name]
			want, got := run(tool), run(ours)
			switch {
			case want != got && !onPurpose && !anyway:
				t.Errorf("%s %s %s: %s", tool, o, name, firstDifference(want, got))
			case want == got && onPurpose:
				t.Errorf("%s %s %s no longer differs: %s", tool, o, name, reason)
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("%d runs compared", compared)
	}
}

var date = regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (\d{4})`)

// maskPresent replaces the current time, which some tools print instead of a time of an archive.
// All archives are of other years.
func maskPresent(text string) string {
	lastYear := time.Now().Year() - 1 // in some zone
	return date.ReplaceAllStringFunc(text, func(s string) string {
		if year, err := strconv.Atoi(s[len(s)-4:]); err == nil && year >= lastYear {
			return "NOW"
		}
		return s
	})
}

// archiveNames returns the names of archives below testSuite.
func archiveNames(t *testing.T, all bool) (names []string) {
	t.Helper()
	sizes := map[string]int64{}
	for _, pattern := range []string{"archives/*.*", "archives/multi*/*.*", "badarchives/*.*"} {
		files, err := filepath.Glob(filepath.Join(testSuite, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(testSuite, file)
			for _, suffix := range []string{".xz", ".bz2", ".gz", ".lzma"} {
				name = strings.TrimSuffix(name, suffix)
			}
			switch ext := filepath.Ext(name); {
			case ext == ".meta":
				name = strings.TrimSuffix(name, ext)
				names = append(names, name)
			case ext == ".index", strings.Trim(ext, ".0123456789") == "":
				name = strings.TrimSuffix(name, ext)
			}
			sizes[name] += info.Size()
		}
	}
	if all {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return sizes[name] > shortArchive })
}

// firstDifference returns the first line that differs. diff would take too long for dumps of large
// archives.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
