package pmlog_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
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
		{slog.LevelWarn, []slog.Attr{slog.String("user", "goroutine 1\n[forged]"), slog.String("name", "\u009b2J"), slog.String("stack", "goroutine 1\n\tf")},
			line("Warning", `text user="goroutine 1\n[forged]" name="\u009b2J" stack=goroutine 1`+"\n\tf")},
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
		{"pdu,4,1", []string{"pdu", "4", "1"}, true},
		{" 4", []string{" 4"}, true},
		{"4,", []string{"4"}, true},
		{"99999999999999999999", []string{"99999999999999999999"}, true},
		{"4 ", nil, false},
		{"1.5", nil, false},
		{"4,,1", nil, false},
		{"pdu, fetch", nil, false},
		{"0x3", nil, false},
		{"none", nil, false},
		{",", nil, false},
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

func TestDebugOn(t *testing.T) {
	bits := append(slices.Clone(pmlog.DebugNames[:28]), "desperate") // those with bits
	for spec, want := range map[string][]string{
		"": nil, "0": nil, "pdu": {"pdu"}, "attr,pdu": {"attr", "pdu"}, "1": {"pdu"}, "32769": {"libpmda", "pdu"},
		"-1": bits, "1073741824": {"desperate"}, "268435456": nil, "all": pmlog.DebugNames,
		"4,pdu": {"profile", "pdu"}, " 4": {"profile"}, "+4": {"profile"}, "010": {"fetch", "value"}, "4294967300": {"profile"}, "0,pdu": {"pdu"},
		"4294967295": bits, "99999999999999999999": bits, "-99999999999999999999": nil, "-2147483648": nil,
	} {
		names, ok := pmlog.ParseDebug(spec)
		on := map[string]bool{}
		for _, name := range want {
			on[name] = true
		}
		if diff := cmp.Diff(on, pmlog.DebugOn(names)); diff != "" || !ok {
			t.Errorf("%q (-want +got):\n%s", spec, diff)
		}
	}
}

func TestFormatPDU(t *testing.T) {
	h := pdu.Header{Len: 20, Kind: pdu.KindInstance, From: -1}
	for _, tt := range []struct{ name, got, want string }{
		{"sent", pmlog.FormatPDU(true, "fd=3", h, []byte("abcdefgh")), "Xmit: INSTANCE PDU, fd=3, len=20, from=-1, body=6162636465666768"},
		{"received", pmlog.FormatPDU(false, "web1", h, nil), "Recv: INSTANCE PDU, web1, len=20, from=-1"},
		{"long", pmlog.FormatPDU(false, "fd=3", h, make([]byte, 40)), "Recv: INSTANCE PDU, fd=3, len=20, from=-1, body=" + strings.Repeat("00", 32) + "..."},
		{"attribute", pmlog.FormatPDU(true, "fd=3", pdu.Header{Len: 22, Kind: pdu.KindAttr}, []byte("secret")), "Xmit: ATTR PDU, fd=3, len=22, from=0"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, tt.got, tt.want)
		}
	}
}

// TestDebugNames compares the names with the list that pmdbg prints, and what ParseDebug accepts
// with what a tool accepts.
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
	for _, spec := range []string{"", "3", "0x3", "none", "PMNS,fetch,", ",", ",pdu", "-appl0", "appl0 appl1", "appl0,,appl1", "nosuch"} {
		_, stderr, _ := pcptest.Run(t, nil, "", "pminfo", "-D", spec, "-?")
		refused := strings.Contains(stderr, "unrecognized debug options specification")
		if _, ok := pmlog.ParseDebug(spec); ok == refused {
			t.Errorf("ParseDebug(%q) says %v; pminfo: %.100s", spec, ok, stderr)
		}
	}
}
