package derived

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSyntax parses what the C library was given, of which testdata/syntax.txt has the answers: "ok", or where it gave up and why.
func TestSyntax(t *testing.T) {
	f, err := os.Open("testdata/syntax.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for ; lines.Scan(); n++ {
		i := strings.LastIndexByte(lines.Text(), '~')
		text, want := lines.Text()[:i], lines.Text()[i+1:]
		got := "ok"
		_, err := Parse(text)
		if e, ok := errors.AsType[*SyntaxError](err); ok {
			got = fmt.Sprint(e.Offset, " ", e.Message)
			if e.Message == "" {
				got += "(null)"
			}
		}
		if newer[text] {
			want = "ok"
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if n < 400 {
		t.Errorf("%d expressions", n)
	}
}

// newer is what the C library of PCP 6.0.3 refused and that of PCP 7 takes: changes of what is no metric.
var newer = map[string]bool{"rate(a+b)": true, "rate(1)": true, "instant(a+b)": true}

// TestChangingErrors has what is wrong within delta, rate and instant told as PCP 6.0.3 does.
func TestChangingErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rate(a +)":      "7 Metric name expected to follow rate(",
		"delta(a, b)":    "7 Metric name expected to follow delta(",
		"delta(a + b, c": "8 Metric name expected to follow delta(",
		"instant((a)":    "8 Metric name expected to follow instant(",
		"rate(a $)":      "7 Illegal character",
		"delta(+a)":      "6 Metric name expected to follow delta(",
	} {
		_, err := Parse(text)
		e, ok := errors.AsType[*SyntaxError](err)
		if got := fmt.Sprint(e.Offset, " ", e.Message); !ok || got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestBeyondC has expressions that make the C library crash, or that it cannot parse though they are right.
func TestBeyondC(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"anon(PM_TYPE_STRING)":                   "type=PM_TYPE_STRING not allowed for anon()",
		"matchinst(/x/, a / b)":                  "",
		strings.Repeat("(", 10000):               "more than 500 parts are nested",
		strings.Repeat("-", 10000):               "more than 500 parts are nested",
		strings.Repeat("a?", 10000):              "more than 500 parts are nested",
		strings.Repeat("a+", maxExpr/2) + "a":    "expression of more than 65536 bytes",
		strings.Repeat("a+", maxExpr/2-10) + "a": "",
		"matchinst(/(/, a)":                      `bad regular expression: 'Unmatched ( or \('`,
		"matchinst(/a)/, a)":                     `bad regular expression: 'Unmatched ) or \)'`,
		"matchinst(/[z-a]/, a)":                  "bad regular expression: 'Invalid range end'",
		"matchinst(/a**/, a)":                    "",
	} {
		_, err := Parse(text)
		got := ""
		if e, ok := errors.AsType[*SyntaxError](err); ok {
			got = e.Message
		}
		if got != want {
			t.Errorf("%.40s: %q, want %q", text, got, want)
		}
	}
}

// FuzzParse parses any text, and binds and computes what it can.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a + b", "rate(a)", `rescale(a, "Kbyte")`, "matchinst(!/x/, a)", "a ? b : mkconst(1, type=u64)", "a[x y]", "!(a && b) < 3.", "scalar(count(a))", "-defined(a)", "anon(PM_TYPE_32)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			if s, ok := errors.AsType[*SyntaxError](err); !ok || s.Offset < -1 || s.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := Parse(e.String()); err != nil || again.String() != text {
			t.Fatal(again, err)
		}
		p, err := e.Bind(describe)
		if err != nil {
			return
		}
		newSource(t).eval(t, p)
	})
}
