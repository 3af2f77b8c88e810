package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "reduce all archives and run all command lines, and not only some of them")

const archives = "/var/lib/pcp/testsuite/archives/"

// reduced is what a run leaves: what it prints, and its files without the process in their labels.
func reduced(t *testing.T, program string, args ...string) (text, dir string) {
	t.Helper()
	dir = t.TempDir()
	stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", append([]string{program}, args...)...)
	var b strings.Builder
	fmt.Fprintf(&b, "%sstandard error:\n%sexit status: %d\n", stdout, stderr, status)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 12 {
			clear(data[8:12])
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&b, "%s: %x\n", f.Name(), data)
	}
	return b.String(), dir
}

// difference is how what PCP's tool and ours do with a command line differs, "" if it does not.
func difference(t *testing.T, ours string, args ...string) string {
	t.Helper()
	want, wantDir := reduced(t, "pmlogreduce", args...)
	got, gotDir := reduced(t, ours, args...)
	if want == got {
		return ""
	}
	dump := func(text, dir string) []string {
		text, _, _ = strings.Cut(text, "X.0: ")
		stdout, stderr, _ := pcptest.RunIn(t, dir, nil, "", "pmdumplog", "-a", "X")
		return strings.Split(text+stdout+stderr, "\n")
	}
	w, g := dump(want, wantDir), dump(got, gotDir)
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
	if len(w) != len(g) {
		return fmt.Sprintf("%d lines, want %d", len(g), len(w))
	}
	return "other bytes"
}

// Differences that are on purpose.
const (
	noInstance = "PCP's tool ends if a value is of a record that is up to a millisecond later than its time"
	early      = "PCP's tool writes a mark that comes next before the record at hand, so that time goes back"
	badEntry   = "PCP's tool ends at an entry of the index that leads beyond the end"
	untyped    = "values in very old archives have no types; ours have"
	before     = "PCP's tool writes the marks before the start of the window, too"
	torn       = "PCP's tool ends at a record that is cut short; to ours that is the end of the archive"
	noEnd      = "PCP's tool leaves an index without an end after an error"
	slow       = "takes long" // so it is not run
	beyond     = "interpolated 32 and 64-bit counters that pass their greatest value are other numbers, as with pmval"
)

var differs = map[string]string{
	"* 541380_v2":                           untyped,
	"* 951127.23.01_v2":                     noInstance,
	"* 960624.08.17_v2":                     noInstance,
	"* babylon.percpu_v2":                   noInstance,
	"* bozo.client_v2":                      noInstance,
	"* bug_v2":                              noInstance,
	"* binning":                             badEntry,
	"* kenj-pc-2":                           beyond,
	"* reduce-1":                            beyond,
	"* reduce-2":                            beyond,
	"* procpid-encode2":                     early,
	"-A 1min -t 30sec -v 2 omnibus_v3":      before,
	"-A 1min -t 30sec -v 2 gap2":            before,
	"-A 1min -t 30sec -v 2 19970807.09.54":  before,
	"-t 7sec all-irix-6.5.25":               noInstance,
	"-A 1min -t 30sec -v 2 all-irix-6.5.25": noInstance,
	"-t 7sec old_xfs":                       slow,
	"-A 1min -t 30sec -v 2 old_xfs":         slow,
	"-t 1sec B/badlen-1 X":                  noEnd,
	"-t 1sec B/ok-truncbin X":               torn,
}

// shortArchives are the names of archives that have not too many bytes.
func shortArchives(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(archives + "*.meta")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d archives: %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".meta")
		files, _ := filepath.Glob(name + ".*")
		var size int64
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				size += info.Size()
			}
		}
		if size < 300_000 {
			names = append(names, name)
		}
	}
	return names
}

// options are the options of the runs that reduce archives.
var options = []string{"-t 7sec", "", "-A 1min -t 30sec -v 2"}

// TestInteropArchives compares what PCP's tool and ours make of archives.
func TestInteropArchives(t *testing.T) {
	pcptest.Need(t, "pmlogreduce", "pmdumplog", archives)
	ours := pcptest.Build(t, "./examples/pmlogreduce")
	names := shortArchives(t)
	const oneIn = 60
	for i, name := range names {
		for j, o := range options {
			if !*all && (i+j*17)%oneIn != 0 {
				continue
			}
			args := append(strings.Fields(o), name, "X")
			reason := differs[o+" "+filepath.Base(name)] + differs["* "+filepath.Base(name)]
			if reason == slow {
				continue
			}
			switch diff := difference(t, ours, args...); {
			case diff != "" && reason == "":
				t.Errorf("pmlogreduce %s: %s", strings.Join(args, " "), diff)
			case diff == "" && differs[o+" "+filepath.Base(name)] != "":
				t.Errorf("pmlogreduce %s no longer differs: %s", strings.Join(args, " "), reason)
			}
		}
	}
}

// TestInteropOptions compares what PCP's tool and ours do with options, and what they print.
func TestInteropOptions(t *testing.T) {
	pcptest.Need(t, "pmlogreduce", "pmdumplog", archives)
	ours := pcptest.Build(t, "./examples/pmlogreduce")
	for i, line := range []string{
		"", "A/ok-foo", "A/ok-foo X", "nosuch X", "'' X", "A/ok-foo nosuch/X", "A/ok-foo Y X", "A/ok-foo X.0", "A/ok-foo.meta X", "A/multi X",
		"-s 3 -t 1sec A/ok-foo X", "-s 0 A/ok-foo X", "-s '' A/ok-foo X", "-s x A/ok-foo X", "-s -1 A/ok-foo X", "-s 1x A/ok-foo X", "-t 500msec -s 60 A/20071023-08-06-36 X", "-S 10sec -t 1.3sec -T 40sec A/ace_v2 X", "-s ' 2' -t 1 A/ok-foo X",
		"-v 2 -t 1sec A/ok-foo X", "-v 0 -t 1sec A/ok-foo X", "-v x A/ok-foo X", "-v 1 -t 100msec A/ok-foo X", "-Z UTC+3 -v 2 -t 1sec A/ok-foo X", "-z -v 3 -t 1sec A/ok-foo X",
		"-t x A/ok-foo X", "-t 0.3 A/ok-foo X", "-t 1.7sec A/ok-foo X", "--interval=2sec A/ok-foo X", "-t 1us -s 5 A/ok-foo X",
		"-S 3sec -t 1sec A/ok-foo X", "-S 20sec -t 1sec A/ok-foo X", "-S @23:00 A/ok-foo X", "-S 3sec -T 5sec -t 500msec A/ok-foo X", "-T -3sec -t 2sec A/ok-foo X",
		"-A 5sec -t 5sec A/ok-foo X", "-A x A/ok-foo X", "-A 1min -S 3sec A/ok-foo X", "-z A/ok-foo X", "-Z UTC A/ok-foo X", "-z -Z UTC A/ok-foo X",
		"-A 5sec -t 5sec -v 1 A/mark-bug X", "-t 4sec A/interpmark X", "A/eventrec X", "-t 1sec A/omnibus_v3 X", "-S 30sec -t 4sec A/interpmark X",
		"-O 1sec A/ok-foo X", "-V", "-?", "-D foo A/ok-foo X", "-X A/ok-foo X", "-a A/ok-foo X",
		"B/badlog-1 X", "-t 1sec B/badlog-1 X", "-t 1sec B/badlen-1 X", "B/badlabel-2 X", "B/badlen-11 X", "B/badmeta-3 X", "B/empty X", "-t 1sec B/ok-truncbin X",
	} {
		if i%8 != 0 && !*all {
			continue
		}
		var args []string
		for word := range strings.FieldsSeq(strings.ReplaceAll(line, "' 2'", "\x002")) {
			if rest, ok := strings.CutPrefix(word, "A/"); ok {
				word = archives + rest
			}
			if rest, ok := strings.CutPrefix(word, "B/"); ok {
				word = filepath.Join(filepath.Dir(filepath.Clean(archives)), "badarchives", rest)
			}
			args = append(args, strings.ReplaceAll(strings.ReplaceAll(word, "''", ""), "\x00", " "))
		}
		if diff := difference(t, ours, args...); (diff != "") != (differs[line] != "") {
			t.Errorf("pmlogreduce %s: %s", line, diff)
		}
	}
}
