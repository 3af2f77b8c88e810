package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "compare all command lines, and not only one in eight")

const archives = "/var/lib/pcp/testsuite/archives/"

// prepare fills a directory with a, an archive; b, one with a compressed volume and a gap between
// volumes; c, one without an index; d, a directory with an archive; e, a directory without; and
// bad, which cannot be opened. another is a directory of another file system.
func prepare(t *testing.T, dir string) {
	t.Helper()
	part := func(name, from string) {
		b, err := os.ReadFile(archives + from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"d", "e"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, base := range []string{"a", "c", "d/x", "taken", "bad"} {
		for _, suffix := range []string{".0", ".index", ".meta"} {
			if base == "c" && suffix == ".index" {
				continue
			}
			part(base+suffix, "ok-foo"+suffix)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "bad.meta"), 200); err != nil {
		t.Fatal(err)
	}
	part("part.meta", "ok-foo.meta")
	part("b.meta", "20190628.04.03.meta.xz")
	if err := os.Rename(filepath.Join(dir, "b.meta"), filepath.Join(dir, "b.meta.xz")); err != nil {
		t.Fatal(err)
	}
	part("b.0.xz", "20190628.04.03.0.xz")
	part("b.3", "ok-foo.0")
	part("b.index", "20190628.04.03.index")
}

// list is the names and lengths of what is below some directories, and whether files are links.
func list(t *testing.T, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				rel, _ := filepath.Rel(dir, path)
				fmt.Fprintln(&b, rel, info.Size(), info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestInteropOptions compares what PCP's tool and ours print and do.
func TestInteropOptions(t *testing.T) {
	pcptest.Need(t, "pmlogmv", archives)
	ours := pcptest.Build(t, "./examples/pmlogmv")
	for i, line := range []string{
		"a n", "-V a n", "-N a n", "-NV a n", "-NVV a n", "-VV a n", "-c a n", "-Vc a n", "-VVcN a n",
		"--showme --checksum --force --verbose a n", "a -N n",
		"-V b n", "-VV b n", "-N b.0 n", "-N b.0.xz n", "-VV b.meta n", "b e/n", "-VV c n", "-V c n",
		"-V d n", "-V d/ n", "-V d/x n", "-V d//x n", "-V ./a n", "-V .//a n", "-V d/../a n", "-V DIR/a n", "-V a DIR/n",
		"-V a.0 n", "-V a.meta n.0", "-V a.index n", "-V a,taken n", "-N d,a n", "-V a a", "-V a ''",
		"-V a taken", "-NV a taken", "-V a part", "-V b part", "-V a nosuch/n", "-V a a.0/n", "a nosuch/n",
		"nosuch n", "'' n", "bad n", "-N bad n", "part n", "e n", "a.7 n", "a.0.gz n", "a/ n", "/dev/null n",
		"a 'a b'", "-f a 'a b'", "-N a 'a?b'", "-V a 'a$b'", "a 'a*'", "a '['", "a '('", "a '|'", "a ';x'", "a '&'", "a '<'", "a '>'", "-N a 'a`'", "-N a '{'", "-N a ')'",
		"nosuch 'a b'", "", "a", "a b n", "-X a n", "-N -X", "-?", "-D foo a n", "--nosuch a n", "--verbose=1 a n", "--check a n",
		"-V -- a n", "-- -a n",
		"a OTHER/n", "-V a OTHER/n", "-Vc a OTHER/n", "-c b OTHER/n", "-VVc b OTHER/n", "-V a OTHER/taken", "-V a OTHER/part", "-cN a OTHER/n", "-V a OTHER/no/n",
	} {
		if i%8 != 0 && !*all {
			continue
		}
		run := func(program string) string {
			dir, other := t.TempDir(), otherFileSystem(t)
			prepare(t, dir)
			for _, name := range []string{"taken.0", "part.index"} {
				if err := os.WriteFile(filepath.Join(other, name), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{program}
			for word := range strings.FieldsSeq(strings.ReplaceAll(line, "'a b'", "a\x00b")) {
				word = strings.NewReplacer("\x00", " ", "'", "", "DIR", dir, "OTHER", other).Replace(word)
				args = append(args, word)
			}
			args = append([]string{"/bin/sh", "-c", `exec "$0" "$@" 2>&1`}, args...) // the order matters
			output, _, status := pcptest.RunIn(t, dir, nil, "", args...)
			text := fmt.Sprintf("%sexit status: %d\nfiles:\n%s", output, status, list(t, dir, other))
			return strings.NewReplacer(dir, "DIR", other, "OTHER").Replace(text)
		}
		if diff := cmp.Diff(run("pmlogmv"), run(ours)); diff != "" {
			t.Errorf("pmlogmv %s (-PCP +ours):\n%s", line, diff)
		}
	}
}

// otherFileSystem returns an empty directory on another file system than t.TempDir, so that pmlogmv
// has to copy. Without /dev/shm it returns t.TempDir.
func otherFileSystem(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pcp")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
