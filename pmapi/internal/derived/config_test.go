package derived

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const configText = `# comment
q.good = n + 1
q.txt = n
q.txt(oneline) = "one line"
q.txt( helptext ) = "long
text \"quoted\" x\
 on" rest
q.plain = n
q.plain(oneline) = without marks
q.syn = n +
1bad = 5
= 6
q.noexpr =
q.what 5
q.undef(oneline) = "x"
q.txt(oneline) = "again"
q.txt(foo) = "x"
q.txt() = "x"
q.txt(oneline = "x"
q.good = 7
q.plain(helptext) = ""
q.plain(helptext) = "y"
q.plain(foo) =
q.open = 5
q.open(oneline) = 'x
`

const configErrors = `[FILE:6] Warning: pmLoadDerivedConfig: extra text (rest) after attribute value will be ignored
[FILE:9] Error: pmRegisterDerived(q.syn, ...) syntax error
 n +
   ^
Arithmetic expression expected to follow PLUS
[FILE:10] Error: pmLoadDerivedConfig: illegal derived metric name (1bad)
[FILE:11] Error: pmLoadDerivedConfig: derived metric name missing
= 6
[FILE:12] Error: pmLoadDerivedConfig: expression missing
q.noexpr =
[FILE:13] Error: pmLoadDerivedConfig: missing ` + "``=''" + ` after derived metric name
q.what 5
[FILE:14] Error: pmLoadDerivedConfig: cannot set attribute, derived metric (q.undef) not defined
q.undef(oneline) = "x"
[FILE:15] Error: pmLoadDerivedConfig: duplicate value for attribute (oneline) of metric (q.txt)
q.txt(oneline) = "again"
[FILE:16] Error: pmLoadDerivedConfig: attribute (foo) is unknown for metric (q.txt)
q.txt(foo) = "x"
[FILE:17] Error: pmLoadDerivedConfig: attribute name missing
q.txt() = "x"
[FILE:18] Error: pmLoadDerivedConfig: missing ')' after attribute
q.txt(oneline = "x"
[FILE:19] Error: pmRegisterDerived(q.good, ...) syntax error
 7
 ^
Duplicate global derived metric name
[FILE:21] Error: pmLoadDerivedConfig: duplicate value for attribute (helptext) of metric (q.plain)
q.plain(helptext) = "y"
[FILE:22] Error: pmLoadDerivedConfig: attribute value missing
q.plain(foo) =
[FILE:24] Error: pmLoadDerivedConfig: missing termination (') for value`

// TestLoad reads a file with one mistake of each kind, in the words of the C library.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, []byte(configText), 0o644); err != nil {
		t.Fatal(err)
	}
	var s Set
	n, err := s.Load(file)
	if got := strings.ReplaceAll(err.Error(), file, "FILE"); n != 4 || got != configErrors {
		t.Errorf("%d metrics\n%s\nwant\n%s", n, got, configErrors)
	}
	if d := definition(t, &s, "q.txt"); d.OneLine != (HelpText{"one line", true}) || d.Help != (HelpText{"long\ntext \"quoted\" x on", true}) {
		t.Errorf("%+v", d)
	}
	if d := definition(t, &s, "q.plain"); d.OneLine != (HelpText{"without marks", true}) {
		t.Errorf("%+v", d)
	}
	var all Set
	if err := os.MkdirAll(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "below", "more"), []byte("more = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if n, _ := all.Load(dir); n != 5 || len(all.All()) != 5 {
		t.Errorf("%d metrics in the directory", n)
	}
	if _, err := all.Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// loadText loads a text as a file.
func loadText(s *Set, text string) error {
	c := config{set: s, path: "f", text: text}
	for c.text != "" {
		c.definition()
	}
	return errors.Join(c.errs...)
}

// TestContinuation has expressions that go on in other lines, one of them up to the end of the
// file.
func TestContinuation(t *testing.T) {
	var s Set
	if err := loadText(&s, "a = n + \\\n  1 * \\\n\t2\nb = 7\nc = 1 +\\\n 2"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "n + 1 * 2", "b": "7", "c": "1 + 2"} {
		if got := strings.Join(strings.Fields(definition(t, &s, name).Expr.String()), " "); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	const want = "[f:2] Error: pmRegisterDerived(d, ...) syntax error\n n +  +\n      ^\nArithmetic expression expected to follow PLUS\n" +
		"[f:4] Error: pmRegisterDerived(e, ...) syntax error\n 1 \\\n   ^\nIllegal character"
	if err := loadText(&s, "d = n + \\\n+\n\ne = 1 \\"); err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}

// TestControl sets options by a file, by the environment, which wins, and wrongly.
func TestControl(t *testing.T) {
	var s Set
	if err := s.Control("global_limit=3, debug_eval=1", true); err != nil {
		t.Fatal(err)
	}
	err := loadText(&s, "#control GLOBAL_LIMIT=1,CONTEXT_LIMIT=5,OPTION_NOVALUE=1\n#controls x=1\n# control y=1\n#control of derived metrics\na = 1\nb = 2\nc = 3\nd = 4\n")
	if want := (Controls{GlobalLimit: 3, ContextLimit: 5, NoValue: true}); s.Controls() != want {
		t.Errorf("%+v, want %+v", s.Controls(), want)
	}
	if err == nil || !strings.HasSuffix(err.Error(), "Too many global derived metrics") || len(s.All()) != 3 {
		t.Error(err, len(s.All()))
	}
	if err := loadText(&s, "#control context_limit=-1\n"); err != nil || s.Controls().ContextLimit != 0 {
		t.Error(err, s.Controls())
	}
	for text, want := range map[string]string{
		"#control context_limit=0": `"context_limit=0": 0 is neither above 0 nor -1 for no limit`,
		"#control debug_syntax=2":  `"debug_syntax=2": 2 is neither 0 nor 1`,
		"#control debug_eval=1x":   `"debug_eval=1x": "1x" is no number`,
		"#control limit=1":         `"limit=1": no such option`,
		"#control a=1,b":           `"a=1": no such option`,
	} {
		want = "[f:1] Warning: pmLoadDerivedConfig: control of derived metrics " + want
		if err := loadText(&s, text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := s.Control("option_novalue", true); err == nil || err.Error() != `control of derived metrics "option_novalue": no value; it is given as NAME=VALUE` {
		t.Error(err)
	}
}

// TestTextOfAnother adds a text to a definition. An earlier copy of the definition lacks it.
func TestTextOfAnother(t *testing.T) {
	var s Set
	if err := s.Add("a", "1"); err != nil {
		t.Fatal(err)
	}
	before := s.All()
	c := config{set: &s, path: "f", text: "a(oneline) = text\n"}
	c.definition()
	if now := s.All(); before[0].OneLine.Given || now[0].OneLine.Text != "text" || now[0].Expr != before[0].Expr {
		t.Errorf("%+v, %+v", before[0], now[0])
	}
}

// FuzzLoad reads any file.
func FuzzLoad(f *testing.F) {
	f.Add(configText)
	f.Fuzz(func(t *testing.T, text string) {
		c := config{set: new(Set), path: "f", text: text}
		for c.text != "" {
			c.definition()
		}
		if c.n != len(c.set.All()) {
			t.Fatalf("%d metrics, %d counted", len(c.set.All()), c.n)
		}
	})
}

// definition returns a definition of a Set.
func definition(t *testing.T, s *Set, name string) *Definition {
	t.Helper()
	for _, d := range s.All() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("%s is not defined", name)
	return nil
}
