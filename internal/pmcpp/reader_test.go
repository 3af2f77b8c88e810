package pmcpp

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var seed = flag.Uint64("seed", 7, "of the random files, of which pmcpp crashes on some")

// shell is how pmlogger's configurations are read.
func shell() Config {
	return Config{Open: func(name string) (io.ReadCloser, error) { return os.Open(name) }, Shell: true, Restrict: true}
}

// read is all lines, and the error that ends them.
func read(c Config, name, text string) (lines []Line, err error) {
	r := c.NewReader(name, strings.NewReader(text))
	defer r.Close()
	for {
		l, err := r.Next()
		if err == io.EOF {
			return lines, nil
		} else if err != nil {
			return lines, err
		}
		lines = append(lines, l)
	}
}

const example = `# comment %x
%define x 1
%define y "a b"
%define z '/* c */'
x %x %{x} %{y}%z %{x }, %{nosuch} %nosuch /* no comment */
  %define w 3
%w %% %1 %x1 %x- %
%foo bar
%ifdef x
yes
%else
no
%endif
%undef x
%x %{x} %{y
# 12 "foo"
after
%include "b"
log %y
`

func TestShell(t *testing.T) {
	c := shell()
	c.Open = func(name string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("in b %y\n%define b\n")), nil
	}
	got, err := read(c, "a", example)
	want := []Line{{"a", 5, "x 1 1 a b/* c */ %{x }, %{nosuch} %nosuch /* no comment */", 0}, {"a", 6, "%define w 3", 2}, {"a", 7, "%w %% %1 %x1 1- %", 0},
		{"a", 8, "%foo bar", 0}, {"a", 10, "yes", 0}, {"a", 15, "%x %{x} %{y", 0}, {"foo", 12, "after", 0}, {"b", 1, "in b a b", 0}, {"a", 19, "log a b", 0}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestErrors: messages name the control lines as they are written.
func TestErrors(t *testing.T) {
	tests := map[string]string{
		"%define x\nx=%x\n%define x 2\n": `f:3: Macro redefinition`,
		"%ifdef a\nfoo\n":                `f:1: End of input and no matching %endif for %ifdef or %ifndef at line 1`,
		"%define a b c\n":                `f:1: Unexpected extra text in a control line`,
		"%include \"no/such\"\n":         `f:1: Cannot open file for %include`,
		"%include foo\n":                 `f:1: Expected " or < after %include`,
		"%else\n":                        `f:1: No matching %ifdef or %ifndef for %else`,
		"%endif\n":                       `f:1: No matching %ifdef or %ifndef for %endif`,
		"%ifdef a\n%ifdef b\n":           `f:2: Nested %ifdef or %ifndef`,
		"%define 1\n":                    `f:1: Illegal character in macro name`,
		"%undef\n":                       `f:1: Missing macro name`,
		"%define a 'b\n":                 `f:1: Unterminated value string in %define`,
		"%shell 'echo a'\n":              `f:1: %shell is not supported: run the command beforehand and %include its output`,
	}
	for text, want := range tests {
		_, err := read(shell(), "f", text)
		if wrong := (*Error)(nil); !errors.As(err, &wrong) || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestLimits: what grows without end ends with an error.
func TestLimits(t *testing.T) {
	c := shell()
	c.Open = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("%include \"x\"\n")), nil
	}
	_, err := read(c, "f", "%include \"x\"\n")
	if err == nil || err.Error() != "x:1: %include and/or %shell nesting too deep" {
		t.Error(err)
	}
	c.Open = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }
	if _, err = read(c, "f", strings.Repeat("%include \"x\"\n", maxIncludes+1)); err == nil || !strings.Contains(err.Error(), "More than 4096 %include lines") {
		t.Error(err)
	}
	if _, err = read(c, "f", strings.Repeat("a", maxSourceLine+1)); err == nil || !strings.Contains(err.Error(), "Absurdly long line") {
		t.Error(err)
	}
	c.Defines = map[string]string{"a": strings.Repeat("x", 1<<19)}
	lines, err := read(c, "f", strings.Repeat("%a", 1<<18))
	if err != nil || len(lines) != 1 || len(lines[0].Text) > maxSource+2<<20 {
		t.Error(len(lines), err)
	}
}

// TestInterop compares with pmcpp -rs: the lines and their places, or the error.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "pmdumplog") // the package that pmcpp is in
	program := filepath.Join(pcptest.Conf("PCP_BINADM_DIR"), "pmcpp")
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("b", []byte("in b %y\n%define b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		text := example
		if i > 0 {
			text = randomText(random)
		}
		if err := os.WriteFile("a", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status := pcptest.Run(t, nil, "", program, "-rs", "a")
		got, err := read(shell(), "a", text)
		if (err != nil) != (status != 0) {
			t.Fatalf("%d: pmcpp says %q, we %v of\n%s", i, stderr, err, text)
		}
		if err != nil {
			wrong := err.(*Error)
			if want := "Error: " + wrong.Msg + "\n"; !strings.HasSuffix(lineZero.ReplaceAllString(stderr, ""), lineZero.ReplaceAllString(want, "")) {
				t.Fatalf("%d: pmcpp says %q, we %q of\n%s", i, stderr, want, text)
			}
			continue
		}
		if diff := cmp.Diff(places(stdout), got); diff != "" {
			t.Fatalf("%d: (-C +Go):\n%s\nof\n%s", i, diff, text)
		}
	}
}

// randomText returns a file of control lines and macros. It avoids errors of pmcpp: a line that
// only begins like a control line makes pmcpp forget that it skips text, pmcpp reports only some
// second %else lines, and values longer than the macro's text corrupt its memory.
func randomText(random *rand.Rand) string {
	pieces := []string{"%define x", "%define y 1", "%define x ' '", "%define z \"%x\"", "%undef x", "%undef y", "%ifdef x", "%ifndef y", "%else", "%endif",
		"a %x b", " %{y}%x.%z", "- %y", "# c %x", "x y z", "a%{x", "a%%x", " %ifdef x", "%include \"b\"", "", "%include \"no\"", "%define", "%ifdef", "a %{}", "a%1x", "a%x%y%z{}"}
	var b strings.Builder
	turned := false
	for range random.IntN(12) {
		piece := pieces[random.IntN(len(pieces))]
		if piece == "%else" && turned {
			continue
		}
		turned = turned || piece == "%else"
		b.WriteString(piece + "\n")
	}
	return b.String()
}

// lineZero is what pmcpp says of a condition with a macro's definition in it: the line of another
// one.
var lineZero = regexp.MustCompile(` at line \d+`)

var marker = regexp.MustCompile(`^# (\d+) "(.*)"$`)

// places are the lines that pmcpp prints, without comments.
func places(text string) (lines []Line) {
	var at Line
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if m := marker.FindStringSubmatch(s.Text()); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				panic(fmt.Sprint(m, err))
			}
			at = Line{File: m[2], Number: n - 1}
			continue
		}
		at.Number++
		if text := strings.TrimLeft(s.Text(), " "); text != "" && !strings.HasPrefix(text, "#") {
			lines = append(lines, Line{at.File, at.Number, text, len(s.Text()) - len(text)})
		}
	}
	return lines
}
