package pmlog_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pmlog"
)

func TestLines(t *testing.T) {
	when := time.Date(2026, 11, 1, 8, 26, 37, 5, time.Local)
	line := func(level, rest string) string {
		return fmt.Sprintf("[Sun Nov  1 08:26:37] pmdax(%d) %s: %s\n", os.Getpid(), level, rest)
	}
	tests := []struct {
		level slog.Level
		attrs []slog.Attr
		want  string
	}{
		{slog.LevelDebug, nil, ""},
		{slog.LevelInfo, nil, line("Info", "text")},
		{slog.LevelWarn, []slog.Attr{slog.Int("n", 3), slog.String("s", "a b"), slog.String("empty", "")},
			line("Warning", `text n=3 s="a b" empty=""`)},
		{slog.LevelError, []slog.Attr{slog.Any("err", errors.New("line 1\nline 2")), {}}, line("Error", `text err="line 1\nline 2"`)},
		{pmlog.LevelCritical, []slog.Attr{slog.Group("g", slog.Bool("b", true)), slog.Group("", slog.Int("i", 1))},
			line("Critical", "text g.b=true i=1")},
	}
	for _, tt := range tests {
		var out strings.Builder
		log := pmlog.New(&out, "pmdax", slog.LevelInfo)
		r := slog.NewRecord(when, tt.level, "text", 0)
		r.AddAttrs(tt.attrs...)
		if log.Enabled(t.Context(), tt.level) {
			if err := log.Handler().Handle(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.level, diff)
		}
	}
}

func TestWith(t *testing.T) {
	var out strings.Builder
	pmlog.New(&out, "p", slog.LevelDebug).With("a", 1).WithGroup("g").With("b", 2).Debug("m", "c", 3)
	if want := " Debug: m a=1 g.b=2 g.c=3\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q does not end with %q", out.String(), want)
	}
}

func TestParseDebug(t *testing.T) {
	tests := []struct {
		spec  string
		names []string
		ok    bool
	}{
		{"", nil, true},
		{"pdu", []string{"pdu"}, true},
		{"PDU,fetch,", []string{"pdu", "fetch"}, true},
		{"all", []string{"all"}, true},
		{"3", []string{"3"}, true},
		{"-1", []string{"-1"}, true},
		{"0x3", nil, false},
		{"none", nil, false},
		{",pdu", nil, false},
		{"-pdu", nil, false},
		{"pdu fetch", nil, false},
		{"pdu,nosuch", nil, false},
	}
	for _, tt := range tests {
		names, ok := pmlog.ParseDebug(tt.spec)
		if ok != tt.ok || !cmp.Equal(names, tt.names) {
			t.Errorf("ParseDebug(%q) = %q, %v; want %q, %v", tt.spec, names, ok, tt.names, tt.ok)
		}
	}
}

// TestDebugNames compares the names with the list that pmdbg prints, and what ParseDebug accepts with what a tool accepts.
func TestDebugNames(t *testing.T) {
	pcptest.Need(t, "pmdbg", "pminfo")
	out, _, _ := pcptest.Run(t, nil, "", "pmdbg", "-l")
	n := 0
	for line := range strings.SplitSeq(out, "\n") {
		name, _, ok := strings.Cut(line, " ")
		if !ok || name == "Performance" || name == "Option" {
			continue
		}
		n++
		if _, ok := pmlog.ParseDebug(name); !ok {
			t.Errorf("%s is refused", name)
		}
	}
	if n < 50 {
		t.Errorf("pmdbg listed %d names:\n%s", n, out)
	}
	for _, spec := range []string{"", "3", "0x3", "none", "PMNS,fetch,", ",pdu", "-appl0", "appl0 appl1", "appl0,,appl1", "nosuch"} {
		_, stderr, _ := pcptest.Run(t, nil, "", "pminfo", "-D", spec, "-?")
		refused := strings.Contains(stderr, "unrecognized debug options specification")
		if _, ok := pmlog.ParseDebug(spec); ok == refused {
			t.Errorf("ParseDebug(%q) says %v; pminfo: %.100s", spec, ok, stderr)
		}
	}
}
