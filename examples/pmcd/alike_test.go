package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A view is what a tool shows of a collector. Two outputs of it are alike if they have the same
// lines with the same fields: a number for a number, and the same word for a word. The patterns say
// more of some lines. Each has to match one at least. What a pattern with groups says, it says of
// these.
type view struct {
	tool   string   // the command line, with HOST in it
	same   []string // lines that are equal
	near   []string // groups of numbers that are about equal
	full   []string // groups of percentages of the whole of something
	others []string // lines that may be any
}

var (
	// stamp is a time of day, and a date before it and after it.
	stamp = regexp.MustCompile(`([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d( \d{4})?`)
	// amount is a number in a table, with a unit.
	amount = regexp.MustCompile(`^-?(\d+(?:\.\d*)?)([BkKmMgGT]?)$`)
	// bars separate columns of some tables, which may be empty between them.
	bars = regexp.MustCompile(`[|:]`)
)

// differences says how what the tool shows of our collector is not alike.
func (v view) differences(want, got pcptest.Output) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	w, g := stamp.ReplaceAllString(want.Stdout, "TIME"), stamp.ReplaceAllString(got.Stdout, "TIME")
	if want.Status != got.Status {
		say("exit status %d, want %d", got.Status, want.Status)
	}
	if want.Stderr != got.Stderr {
		say("standard error %q, want %q", got.Stderr, want.Stderr)
	}
	wl, gl := strings.Split(w, "\n"), strings.Split(g, "\n")
	if len(wl) != len(gl) {
		say("%d lines, want %d", len(gl), len(wl))
		return all
	}
	said := map[string]bool{}
	for i := range wl {
		for _, d := range v.compare(wl[i], gl[i], said) {
			say("line %d: %s:\n\t%q, want\n\t%q", i+1, d, gl[i], wl[i])
		}
	}
	for _, pattern := range slices.Concat(v.same, v.near, v.full, v.others) {
		if !said[pattern] {
			say("no line is like %s", pattern)
		}
	}
	return all
}

// compare compares two lines, and adds the patterns that say something of them.
func (v view) compare(want, got string, said map[string]bool) (all []string) {
	match := func(patterns []string, check func(want, got []string) string) (any bool) {
		for _, pattern := range patterns {
			re := regexp.MustCompile(pattern)
			w, g := re.FindStringSubmatch(want), re.FindStringSubmatch(got)
			if w == nil {
				continue
			}
			any, said[pattern] = true, true
			if len(w) == 1 {
				w, g = []string{"", want}, []string{"", got}
			}
			if d := check(w[1:], g[min(1, len(g)):]); d != "" {
				all = append(all, d)
			}
		}
		return any
	}
	if match(v.others, func(w, g []string) string { return "" }) {
		return nil
	}
	if d := alike(want, got); d != "" {
		return []string{d}
	}
	match(v.same, func(w, g []string) string {
		if !slices.Equal(w, g) {
			return "other text"
		}
		return ""
	})
	match(v.near, near)
	match(v.full, full)
	return all
}

// alike says in what two lines do not have the same fields.
func alike(want, got string) string {
	w, g := fields(want), fields(got)
	if len(w) != len(g) {
		return fmt.Sprintf("%d fields, not %d", len(g), len(w))
	}
	for i := range w {
		if w[i] != g[i] && !(amount.MatchString(w[i]) && amount.MatchString(g[i])) {
			return fmt.Sprintf("%q in the place of %q", g[i], w[i])
		}
	}
	return ""
}

// fields are the words of a line; what separates columns is one.
func fields(line string) []string {
	all := strings.Fields(bars.ReplaceAllString(line, " $0 "))
	for i, f := range all {
		all[i] = strings.TrimSuffix(f, ",")
	}
	return all
}

// near says which of some amounts are not within a tenth of others.
func near(want, got []string) string {
	if len(want) != len(got) {
		return "no such amounts"
	}
	for i := range want {
		w, g := value(want[i]), value(got[i])
		if !(math.Abs(w-g) <= max(w, g)/10) {
			return fmt.Sprintf("%s is not near %s", got[i], want[i])
		}
	}
	return ""
}

// full says if percentages make neither a whole nor, by and large, what others make: a machine that
// is busy with interrupts has time that they do not show. Kernels count in ticks, and tools cut off
// what is less than one.
func full(want, got []string) string {
	sum := func(all []string) (sum float64) {
		for _, s := range all {
			sum += value(s)
		}
		return sum
	}
	if w, g := sum(want), sum(got); !(g >= 85 && g <= 110 || math.Abs(w-g) <= 15) {
		return fmt.Sprintf("the sum of %q is %v", got, g)
	}
	return ""
}

// value returns an amount in its smallest unit, or NaN if s is not an amount.
func value(s string) float64 {
	m := amount.FindStringSubmatch(s)
	if m == nil {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return math.NaN()
	}
	switch strings.ToUpper(m[2]) {
	case "K":
		v *= 1 << 10
	case "M":
		v *= 1 << 20
	case "G":
		v *= 1 << 30
	case "T":
		v *= 1 << 40
	}
	return v
}

// TestAlike sees what is not alike.
func TestAlike(t *testing.T) {
	v := view{
		same: []string{"free", `^ +(\d+)`}, near: []string{`^ +\d+ +(\S+)\|`}, full: []string{`\| *(\d+) +(\d+)$`}, others: []string{"^pmcd"},
	}
	const good = "pmcd 1\ntotal  free| us  id\n  100   12M| 10  90\n 10:11:12 up"
	for _, tt := range []struct{ name, got, want string }{
		{"the same", good, ""},
		{"other numbers", "pmcd none\ntotal  free| us  id\n  100 11.5M|  0  99\n 10:11:13 up", ""},
		{"a line less", "pmcd 1\ntotal  free| us  id\n  100   12M| 10  90", "3 lines, want 4"},
		{"other heading", "pmcd 1\ntotal free | us  id\n  100   12M| 10  90\n 10:11:12 up", "line 2: other text"},
		{"question mark", "pmcd 1\ntotal  free| us  id\n  100     ?| 10  90\n 10:11:12 up", `"?" in the place of "12M"`},
		{"empty column", "pmcd 1\ntotal  free| us  id\n  100      | 10  90\n 10:11:12 up", `4 fields, not 5`},
		{"not available", "pmcd 1\ntotal  free| us  id\n  100   12M|N/A N/A\n 10:11:12 up", `"N/A" in the place of "10"`},
		{"other constant", "pmcd 1\ntotal  free| us  id\n  101   12M| 10  90\n 10:11:12 up", "line 3: other text"},
		{"far", "pmcd 1\ntotal  free| us  id\n  100   12k| 10  90\n 10:11:12 up", "12k is not near 12M"},
		{"no whole", "pmcd 1\ntotal  free| us  id\n  100   12M|  0   0\n 10:11:12 up", `the sum of ["0" "0"] is 0`},
		{"other word", "pmcd 1\ntotal  free| us  id\n  100   12M| 10  90\n 10:11:12 down", `"down" in the place of "up"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(v.differences(pcptest.Output{Stdout: good}, pcptest.Output{Stdout: tt.got}), "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	bad := v.differences(pcptest.Output{}, pcptest.Output{Status: 1, Stderr: "error"})
	want := []string{"exit status 1, want 0", `standard error "error", want ""`, "no line is like free", `no line is like ^ +(\d+)`,
		`no line is like ^ +\d+ +(\S+)\|`, `no line is like \| *(\d+) +(\d+)$`, "no line is like ^pmcd"}
	if diff := cmp.Diff(want, bad); diff != "" {
		t.Errorf("of nothing (-want +got):\n%s", diff)
	}
}

// TestFull sees what is no whole, where others have one.
func TestFull(t *testing.T) {
	for _, tt := range []struct {
		name      string
		want, got []string
		ok        bool
	}{
		{"a whole", []string{"10", "90"}, []string{"5", "93"}, true},
		{"a whole beside others' part", []string{"10", "30"}, []string{"5", "93"}, true},
		{"as little as others", []string{"10", "30"}, []string{"20", "30"}, true},
		{"less than others", []string{"10", "90"}, []string{"10", "60"}, false},
		{"too much", []string{"10", "90"}, []string{"90", "90"}, false},
		{"no number", []string{"10", "90"}, []string{"10", "?"}, false},
	} {
		if got := full(tt.want, tt.got); (got == "") != tt.ok {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
