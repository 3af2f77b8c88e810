package toolcmp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func TestParse(t *testing.T) {
	const table = `
# comment
%part one
%mask time digits
%before pmstore -h $H x 'a b'
%before pmstore y 1

pminfo -h $H ${H}:x "a $H \"\\\$ \n" 'a $H "\' a\ b"c"'d' "" ''
%differs on purpose
A=b PCP_X="1 2" pmval A=c
%mask
%before
pmerr
%part two words
pmerr
`
	before := [][]string{{"pmstore", "-h", "web1", "x", "a b"}, {"pmstore", "y", "1"}}
	want := []Line{
		{Place: "f:8", Part: "one", Text: `pminfo -h $H ${H}:x "a $H \"\\\$ \n" 'a $H "\' a\ b"c"'d' "" ''`,
			Args:   []string{"pminfo", "-h", "web1", "web1:x", `a web1 "\$ \n`, `a $H "\`, "a bcd", "", ""},
			Before: before, Masks: []string{"time", "digits"}},
		{Place: "f:10", Part: "one", Text: `A=b PCP_X="1 2" pmval A=c`, Args: []string{"pmval", "A=c"}, Env: []string{"A=b", "PCP_X=1 2"},
			Before: before, Masks: []string{"time", "digits"}, Differs: "on purpose"},
		{Place: "f:13", Part: "one", Text: "pmerr", Args: []string{"pmerr"}, Masks: []string{}},
		{Place: "f:15", Part: "two words", Text: "pmerr", Args: []string{"pmerr"}},
	}
	got, err := parseTable("f", table, map[string]string{"H": "web1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for table, want := range map[string]string{
		"\n%nosuch":         "f:2: unknown directive %nosuch",
		"%mask time x":      `f:1: no mask "x"`,
		"%differs":          "f:1: %differs without a reason",
		"pmerr\n%differs x": "f: %differs without a line below it",
		"pmerr 'a":          "f:1: unmatched '",
		`%before pmerr "a`:  `f:1: unmatched "`,
		"pmerr $NOSUCH":     `f:1: no variable "NOSUCH"`,
		"A=b":               "f:1: no command",
	} {
		if _, err := parseTable("f", table, nil); err == nil || err.Error() != want {
			t.Errorf("%q: got error %v, want %q", table, err, want)
		}
	}
}

// TestCompare compares echo and others with scripts of the same names.
func TestCompare(t *testing.T) {
	pcptest.Need(t, "sh", "echo", "ls", "touch")
	dir := t.TempDir()
	r := Runner{Program: func(tool string) string { return filepath.Join(dir, tool) }}
	mark := filepath.Join(t.TempDir(), "mark")
	tests := []struct {
		name, table, ours string
		want              string
	}{
		{name: "same", table: "echo a b", ours: `echo "$@"`},
		{name: "output", table: "echo a b", ours: "echo a c", want: "standard output:\n- a b\n+ a c\n"},
		{name: "error output", table: "echo a", ours: "echo a; echo b >&2", want: "standard error:\n+ b\n"},
		{name: "status", table: "echo a", ours: "echo a; exit 3", want: "exit status:\n- exit status 0\n+ exit status 3\n"},
		{name: "last newline", table: "echo a", ours: "printf a", want: "standard output:\n- a\n+ a (no newline)\n"},
		{name: "mask", table: "%mask time numbers\necho \"at 10:20:30.4, 12    x\"", ours: "echo at 11:21:31, 345 x"},
		{name: "not masked", table: "%mask time\necho at 10:20:30, 12 x", ours: "echo at 11:21:31, 345 x", want: "standard output:\n- at TIME, 12 x\n+ at TIME, 345 x\n"},
		{name: "environment", table: "X=y echo y", ours: `echo $X`},
		{name: "before", table: "%before touch $M\nls $M", ours: `ls "$@" && rm "$@"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines, err := parseTable("f", tt.table, map[string]string{"M": mark})
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, lines[0].Tool())
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.ours+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if got := r.Compare(t, lines[0]); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	tests := []struct{ want, got, diff string }{
		{"a\n", "a\n", ""},
		{"", "a\n", "+ a\n"},
		{"a\nb\nc\n", "a\nc\n", "  a\n- b\n  c\n"},
		{"a\nc\n", "a\nb\nc\n", "  a\n+ b\n  c\n"},
		{"a\n\n", "a\n", "  a\n- \n"},
		{numbers(1, 9) + "x\n" + numbers(10, 20), numbers(1, 9) + "y\n" + numbers(10, 20),
			"  … 7 lines\n  8\n  9\n- x\n+ y\n  10\n  11\n  … 9 lines\n"},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.diff, diff(tt.want, tt.got)); d != "" {
			t.Errorf("diff(%q, %q) (-want +got):\n%s", tt.want, tt.got, d)
		}
	}
}

func TestMasks(t *testing.T) {
	for name, tt := range map[string][2]string{
		"date":    {"Host: vm, Sat Nov 21 05:29:32 2026\nx Sat Nov  1 05:29:32 2026", "Host: vm, DATE\nx DATE"},
		"time":    {"timestamp 01:00:41.555 flags", "timestamp TIME flags"},
		"minute":  {"timestamp 01:00:41.555 flags", "timestamp 01:MM:SS flags"},
		"digits":  {"  12.5E+07", "  00.0E+00"},
		"numbers": {"value   -12.5e+07   3.,", "value N  N ,"},
		"amounts": {"    1.95      0 23502m   17K    ? 9K9", " N N N N    ? 9K9"},
		"clients": {"6.0.3-1, 2 agents, 1 client\n 12 clients", "6.0.3-1, 2 agents\n "},
		"bytes":   {"value [00ff00ff00ff00ff0a] x", "value [BYTES] x"},
	} {
		if got := masks[name].pattern.ReplaceAllString(tt[0], masks[name].with); got != tt[1] {
			t.Errorf("%s of %q: got %q, want %q", name, tt[0], got, tt[1])
		}
	}
	if len(masks) != 8 {
		t.Errorf("%d masks, 8 of them tested", len(masks))
	}
}
