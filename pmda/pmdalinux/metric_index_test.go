package pmdalinux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// metricNames returns the names of all metrics of the agent on any machine.
func metricNames(t *testing.T) (names []string) {
	t.Helper()
	our := ourAgent(t, t.TempDir())
	all, err := our.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := our.Lookup(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range all {
		if ids[i].Domain() == pmdalinux.Domain {
			names = append(names, name)
		}
	}
	if len(names) < 1000 {
		t.Fatalf("only %d metrics", len(names))
	}
	return names
}

// sources returns the non-test sources of the package by file.
func sources(t *testing.T) map[string]string {
	t.Helper()
	list, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range list {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(text)
	}
	return all
}

// TestMetricIndex checks that the full name of each metric stands in the file listed in
// CONTRIBUTING.md, and that the list has no unused name.
func TestMetricIndex(t *testing.T) {
	sources := sources(t)
	index := metricIndex(t)
	used := map[string]bool{}
	for _, name := range metricNames(t) {
		prefix := name
		for index[prefix] == "" && prefix != "" {
			prefix = prefix[:max(strings.LastIndexByte(prefix, '.'), 0)]
		}
		if prefix == "" {
			t.Errorf("the list in CONTRIBUTING.md has no file for %s", name)
			continue
		}
		used[prefix] = true
		if file := index[prefix]; !strings.Contains(sources[file], `"`+name+`"`) {
			t.Errorf("%s is not in %s", name, file)
		}
	}
	for prefix := range index {
		if !used[prefix] {
			t.Errorf("the list in CONTRIBUTING.md has %s, which no metric uses", prefix)
		}
	}
}

// metricIndex returns the list in CONTRIBUTING.md: files by prefixes of metrics' names.
func metricIndex(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Where a metric is made\n")
	_, section, _ = strings.Cut(section, "\n```\n")
	section, _, _ = strings.Cut(section, "```\n")
	index := map[string]string{}
	for line := range strings.Lines(section) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		for _, prefix := range fields[:len(fields)-1] {
			if index[prefix] != "" {
				t.Errorf("the list in CONTRIBUTING.md has %s twice", prefix)
			}
			index[prefix] = fields[len(fields)-1]
		}
	}
	if len(index) < 100 {
		t.Fatalf("the list in CONTRIBUTING.md has only %d names", len(index))
	}
	return index
}
