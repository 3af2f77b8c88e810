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

const archives = "/var/lib/pcp/testsuite/archives/"

var (
	// at is the date of a folio.
	at = regexp.MustCompile(` at [A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-3][0-9] [0-9:]{8} [A-Z]+ [0-9]{4}`)
	// ofScript matches errors of the shell script that is PCP's mkaf.
	ofScript = regexp.MustCompile(`(?m)^.*/mkaf: [0-9]+: .*\n|(Usage: _is_archive file\n)+`)
)

// TestInterop compares the output of PCP's mkaf and ours.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "mkaf", "pmdumplog", "find", archives)
	dir := t.TempDir()
	copyFile := func(from, to string) {
		t.Helper()
		to = filepath.Join(dir, to)
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range []string{".meta", ".index", ".0"} {
		for _, base := range []string{"ok-foo", "sub/deep/20230101.00.10", "sp ace/ok-foo"} {
			copyFile(archives+"ok-foo"+suffix, base+suffix)
		}
		copyFile(archives+"ok-foo"+suffix, "lone"+suffix+"/lone"+suffix)
		copyFile(archives+"ok-mv-foo"+suffix, "sub/ok-mv-foo"+suffix)
	}
	copyFile(archives+"ok-mv-foo.1", "sub/ok-mv-foo.1")
	copyFile(archives+"ok-foo.meta", "x.txt")
	copyFile("/dev/null", "empty/empty.0")
	if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	ours := pcptest.Build(t, "./examples/mkaf")
	for line := range strings.Lines(strings.TrimPrefix(`

-?
--help
ok-foo.meta
ok-foo
ok-foo.meta,sub/ok-mv-foo.index,sub/ok-mv-foo.1,nothere,empty/empty.0,x.txt,/dev/null
sub
link,./sub/,`+archives+`ok-foo.0
sub,-bogus,nothere
-bogus,sub
-mount,sub,-xdev,link
-maxdepth,sub
-follow
lone.meta/lone.meta,lone.0,lone.index/
empty
sp ace
sp ace/ok-foo.0
sub/deep/../ok-mv-foo.0,sub/ok-mv-foo.0,sub//ok-mv-foo.1
nothere,-h
x.txt
`, "\n")) {
		args := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if args[0] == "" {
			args = nil
		}
		run := func(program string) pcptest.Output {
			out, errs, status := pcptest.RunIn(t, dir, nil, "", append([]string{program}, args...)...)
			return pcptest.Output{Stdout: at.ReplaceAllString(out, " at DATE"), Stderr: ofScript.ReplaceAllString(errs, ""), Status: status}
		}
		if diff := cmp.Diff(run("mkaf"), run(ours)); diff != "" {
			t.Errorf("mkaf %s (-PCP +ours):\n%s", strings.TrimSpace(line), diff)
		}
	}
}
