package derived

import (
	"errors"
	"strings"
	"testing"
)

// TestTrace writes the tokens of expressions, up to where the parser gives up.
func TestTrace(t *testing.T) {
	for text, want := range map[string]string{
		"rate(a) / .5":        `RATE "rate"|LPAREN "("|NAME "a"|RPAREN ")"|SLASH "/"|DOUBLE ".5"|EOS ""`,
		"matchinst(!/b c/,a)": `FILTERINST "matchinst"|LPAREN "("|NOT "!"|PATTERN "b c"|COMMA ","|NAME "a"|RPAREN ")"|EOS ""`,
		"a +":                 `NAME "a"|PLUS "+"|EOS ""`,
		"a b c":               `NAME "a"|NAME "b"`,
		"a[x":                 `NAME "a"|ERROR "x"`,
		"a $":                 `NAME "a"|ERROR "$"`,
		"99999999999 + 1":     `ERROR "99999999999"`,
		"+ a":                 `PLUS "+"|NAME "a"`,
		"":                    `EOS ""`,
	} {
		_, err := Parse(text)
		failed, _ := errors.AsType[*SyntaxError](err)
		var b strings.Builder
		Trace(&b, text, failed)
		got := strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(b.String(), "derive_lex() -> type=L_", ""), "\n"), "\n", "|")
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestTraceValues writes the values that have no counterpart, and all of the result.
func TestTraceValues(t *testing.T) {
	for expr, want := range map[string]string{
		"size + matchinst(/sd[ac]/, size)": "eval_expr: PLUS: inst[1] mismatch left [1]=1 right [1]=0\n" +
			"eval_expr: PLUS: inst[1] mismatch left [2]=0 right [0]=2\neval_expr: recover @ right [1]=0\n" +
			"__dmpostvalueset: [3] root node 511.0.3: numval=2 vset[0]: inst=2 ll=6000 vset[1]: inst=0 ll=2000\n",
		"text":  "__dmpostvalueset: [3] root node 511.0.3: numval=2 vset[0]: inst=0 cp=x (len=2) vset[1]: inst=2 cp=z (len=2)\n",
		"fails": "__dmpostvalueset: [3] root node 511.0.3: numval=-12389\n",
		"a":     "__dmpostvalueset: [3] root node 511.0.3: numval=1 vset[0]: inst=-1 d=1.500000\n",
		"-b":    "__dmpostvalueset: [3] root node 511.0.3: numval=1 vset[0]: inst=1 f=-2048.000000\n",
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Bind(describe)
		if err != nil {
			t.Fatal(err)
		}
		newSource(t).eval(t, p)
		var b strings.Builder
		p.Trace(&b, 3, 511<<22|3)
		if b.String() != want {
			t.Errorf("%s\ngot  %s\nwant %s", expr, b.String(), want)
		}
	}
}
