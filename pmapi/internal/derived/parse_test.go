package derived

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSyntax parses the expressions of testdata/syntax.txt and compares the results with the C
// library's recorded ones: "ok", or the position and the text of the error.
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
		if of7, ok := newer[text]; ok {
			want = of7
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if n < 400 {
		t.Errorf("%d expressions", n)
	}
}

// newer is what PCP 7 answers where PCP 6.0.3 answers otherwise: changes of what is no metric,
// novalue, and more attributes.
var newer = map[string]string{
	"rate(a+b)": "ok", "rate(1)": "ok", "instant(a+b)": "ok", "mkconst(1,indom=1.1)": "ok", "mkconst(1,indom=null)": "ok",
	"mkconst(1,meta=a)": "ok",
}

// TestNewer parses what PCP 7 has beyond PCP 6.0.3, and what is wrong in it.
func TestNewer(t *testing.T) {
	for text, want := range map[string]string{
		"a ? b : novalue()":                   "",
		"a ? novalue() : b":                   "",
		"a ? b : novalue() ? c : novalue()":   "",
		"(a ? b : novalue()) + c":             "",
		"a ? (b ? novalue() : c) : novalue()": "",
		"a ? novalue() : b ? c : novalue()":   "",
		"a ? b : novalue(type=u64, semantics=counter, units=\"byte\", indom=60.1, meta=b)": "",
		"mkconst(1, indom=\"60.12\", meta=\"x.y\")":                                        "",
		"mkconst(1, INDOM=1.1)":                       "11 ",
		"a ? novalue() : novalue()":                   "24 novalue() may appear at most once in a ternary expression",
		"a ? novalue() + 1 : b":                       "14 ",
		"a ? b : novalue() * 2":                       "18 ",
		"a ? b : novalue()[x]":                        "17 ",
		"a ? b : (novalue())":                         "16 Arithmetic expression expected to follow COLON",
		"a ? novalue( : b":                            "13 ",
		"a + novalue()":                               "12 Unexpected '('",
		"novalue() ? a : b":                           "8 Unexpected '('",
		"rate(novalue())":                             "12 Metric name expected to follow rate(",
		"a ? b : novalue(1)":                          "16 ",
		"a ? b : novalue(type)":                       "20 ",
		"a ? b : novalue(type=u32 units=x)":           "25 ",
		"a ? b : novalue(type=string)":                "21 Unrecognized value for type 'string'",
		"a ? b : novalue(semantics=x)":                "26 Unrecognized value for semantics 'x'",
		"a ? b : novalue(units=\"x\")":                "22 Illegal units: 'unrecognized or duplicate base unit'",
		"mkconst(1, indom=999.1)":                     "17 Illegal indom: '999.1'",
		"mkconst(1, indom=511.1)":                     "17 Illegal indom: '511.1'",
		"mkconst(1, indom=1.4194304)":                 "17 Illegal indom: '1.4194304'",
		"mkconst(1, indom=60)":                        "17 Illegal indom: '60'",
		"mkconst(1, indom=disks)":                     "17 Illegal indom: 'disks'",
		"mkconst(1, meta=1)":                          "16 ",
		"mkconst(1.5, type=double, meta=a, type=u64)": "42 Incompatible floating point constant and type 'U64'",
		"mkconst(1, type=1.5)":                        "16 ",
	} {
		_, err := Parse(text)
		got := ""
		if e, ok := errors.AsType[*SyntaxError](err); ok {
			got = fmt.Sprint(e.Offset, " ", e.Message)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

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

// TestBeyondC has expressions that make the C library crash, or that it cannot parse though they
// are right.
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
	for _, s := range []string{"a + b", "rate(a)", `rescale(a, "Kbyte")`, "matchinst(!/x/, a)", "a ? b : mkconst(1, type=u64)", "a[x y]", "!(a && b) < 3.", "scalar(count(a))", "-defined(a)", "anon(PM_TYPE_32)",
		"b > 1 ? b : novalue()", "n ? novalue(meta=size) : size", "mkconst(1.5, indom=60.1, meta=a)"} {
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
