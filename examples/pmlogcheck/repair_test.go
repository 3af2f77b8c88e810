package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropRepair repairs archives. PCP's tool must find no fault in the result.
func TestInteropRepair(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", testSuite+"archives", testSuite+"badarchives")
	ours := pcptest.Build(t, "./examples/pmlogcheck")
	for _, test := range []struct {
		what, suffix string
		change       func([]byte) []byte
		want         string // on standard error, but for the lines about files that are kept
		status       int
	}{
		{"sound", "", nil, "", 0},
		{"cut in the last record", ".0", func(b []byte) []byte { return b[:len(b)-10] },
			"a.0[record 9]: unexpected EOF in record body, wanted 200, got 194 bytes\na.0: last valid record ends at offset 1768\n" +
				"Info: a.0: truncated from 1966 to 1768 bytes\n", 0},
		{"without index", ".index", func([]byte) []byte { return nil }, "Info: a.index: made anew\n", 0},
		{"with part of an entry", ".index", func(b []byte) []byte { return b[:len(b)-1] },
			"a.index[record 3]: unexpected EOF in index entry, wanted 20, got 19 bytes\nInfo: a.index: truncated from 191 to 172 bytes\n", 0},
		{"without metadata", ".meta", func([]byte) []byte { return nil },
			"./a.meta: missing metadata file\nError: archive: a: the archive has no metadata file (.meta): Missing PCP archive log file\n", 1},
	} {
		dir := t.TempDir()
		copyArchive(t, dir, "a")
		if test.suffix != "" {
			path := filepath.Join(dir, "a"+test.suffix)
			b, err := os.ReadFile(path)
			if err == nil {
				if b = test.change(b); b == nil {
					err = os.Remove(path)
				} else {
					err = os.WriteFile(path, b, 0o644)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", ours, "-wR", "a")
		var lines []string
		for line := range strings.Lines(stderr) {
			if !strings.Contains(line, ": damaged file kept as ") {
				lines = append(lines, line)
			}
		}
		if diff := cmp.Diff(fmt.Sprint(test.want, test.status), fmt.Sprint(stdout, strings.Join(lines, ""), status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.what, diff)
		}
		if status != 0 {
			continue
		}
		if out, stderr, status := pcptest.RunIn(t, dir, nil, "", "pmlogcheck", "-w", "a"); status != 0 || out+stderr != "" {
			t.Errorf("%s: afterwards PCP's tool says %d %s%s", test.what, status, out, stderr)
		}
	}
}

// TestInteropRepairRefused leaves archives as they are: without a terminal to ask at, or
// compressed.
func TestInteropRepairRefused(t *testing.T) {
	pcptest.Need(t, testSuite+"archives/ok-foo.0")
	ours := pcptest.Build(t, "./examples/pmlogcheck")
	dir := t.TempDir()
	copyArchive(t, dir, "a")
	if err := os.Remove(filepath.Join(dir, "a.index")); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := pcptest.RunIn(t, dir, nil, "yes\n", ours, "-r", "a")
	const want = "Error: not interactive so repair not allowed\n       ... consider -R for non-interactive repair\n"
	if stderr != want || status != 1 {
		t.Errorf("-r: %d %s", status, stderr)
	}
	copyArchive(t, dir, "b")
	if err := os.Rename(filepath.Join(dir, "b.0"), filepath.Join(dir, "b.0.gz")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status = pcptest.RunIn(t, dir, nil, "", ours, "-R", "b"); status != 1 {
		t.Errorf("-R of a bad compressed file: %d %s", status, stderr)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*.damaged")); found != nil {
		t.Errorf("changed: %v", found)
	}
}
