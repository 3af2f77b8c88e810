package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traced are archives and rules that go over all types of records.
var traced = []struct{ args, rules string }{
	{"-D appl0 sample-labels", `metric sample.bin { type -> 64 } text metric sample.rapid * { delete } label domain 29 { delete } indom 2.1 { indom -> duplicate 2.9 } global { time -> 10.5 }`},
	{"-D 2048 -V3 sample-labels", `label indom 29.1 { new "a" "1" } indom 2.1 { indom -> 3.1 }`},
	{"-D appl0 dyninsts", `metric no.such { delete }`},
	{"-D appl0 -V3 mark-bug", `metric hinv.ncpu { delete } indom 1.6 { indom -> duplicate 1.9 }`},
	{"-D log,appl0 ok-foo", `metric sample.drift { delete } indom 29.1 { inst 0 -> delete }`},
	{"-D appl0 omnibus_v3", `metric 29.*.* { pmid -> 31.*.* }`},
	{"-D appl1 ok-foo", `metric no.such { delete }`},
}

// TestInteropTrace compares what the debug option appl0 shows.
func TestInteropTrace(t *testing.T) {
	c, ours := programs(t)
	for i, test := range traced {
		if !*all && i%3 != 0 {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "rules"), []byte(test.rules), 0o666); err != nil {
			t.Fatal(err)
		}
		args := strings.Fields(test.args)
		args[len(args)-1] = archives + args[len(args)-1]
		want, got := runBoth(t, dir, c, ours, append(args, "-c", "rules", "out"))
		want.Stderr = onlyTrace(want.Stderr)
		if diff := cmp.Diff(strings.Split(want.Stderr, "\n"), strings.Split(got.Stderr, "\n")); diff != "" || want.Status != got.Status {
			t.Errorf("%s: %s (-PCP +ours)\n%s", test.args, test.rules, diff)
		}
	}
}

// onlyTrace is what other debug options do not show.
func onlyTrace(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Log: ") || strings.HasPrefix(line, "Metadata: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
