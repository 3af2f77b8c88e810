package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestNamesAreFound searches the sources for the full name of every metric that the
// collector has without arguments: it is where the metric is defined, so that
// nobody has to know how agents put names together.
func TestNamesAreFound(t *testing.T) {
	t.Setenv("PCP_TMP_DIR", t.TempDir()) // without the MMV files of this host
	srv := &collector.Server{}
	defer srv.Close()
	if err := addEmbedded(srv); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := c.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found := namesIn(t, "../..")
	var missing []string
	for _, name := range names {
		if !found[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Errorf("%d of %d names are in no source file:\n%s", len(missing), len(names), strings.Join(missing, "\n"))
	}
}

var fullName = regexp.MustCompile(`[A-Za-z]\w*(\.\w+)+`)

// namesIn are what looks like the name of a metric in the Go files below a directory,
// but for those of tests.
func namesIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range fullName.FindAllString(string(text), -1) {
			all[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
