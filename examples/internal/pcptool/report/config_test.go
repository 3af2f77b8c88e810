package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// parse parses a file. It returns the sections with their entries, or the error.
func parse(text string) (sections map[string][]entry, err error) {
	f, err := parseINI("f", []byte(text))
	if err != nil {
		return nil, err
	}
	sections = map[string][]entry{}
	for _, s := range f.sections {
		if sections[s.name], err = f.entries(s); err != nil {
			return nil, err
		}
	}
	return sections, nil
}

func TestINI(t *testing.T) {
	const bad = "Failed to read configuration file 'f'"
	for text, want := range map[string]any{
		"":                                map[string][]entry{},
		"# c\n; d\n\n[a]\n":               map[string][]entry{"a": {}},
		"[a]\nx = 1\ny:2\nz=a=b:c\n":      map[string][]entry{"a": {{"x", "1"}, {"y", "2"}, {"z", "a=b:c"}}},
		"[a]\nX=1\nx=2":                   map[string][]entry{"a": {{"X", "1"}, {"x", "2"}}},
		"[a]\nx = 1 ; no comment\n":       map[string][]entry{"a": {{"x", "1 ; no comment"}}},
		"[a]\nx = 1\n  # c\n  2\n\n\t3\n": map[string][]entry{"a": {{"x", "1\n2\n\n3"}}},
		"[a]\r\nx = 1\r\n":                map[string][]entry{"a": {{"x", "1"}}},
		"[a]\nx = 5%%\ny = %(x)s%(x)s\n":  map[string][]entry{"a": {{"x", "5%"}, {"y", "5%5%"}}},
		"[a]b]c\nx=\n":                    map[string][]entry{"a]b": {{"x", ""}}},
		"[DEFAULT]\nd=1\n[a]\nx=%(d)s\n":  map[string][]entry{"a": {{"d", "1"}, {"x", "1"}}},
		"x = 1\n":                         bad + ", line 1:\nFile contains no section headers.\nfile: 'f', line: 1\n'x = 1\\n'",
		"[a]\n\nx\ny'\n":                  bad + ", line 3:\nSource contains parsing errors: 'f'\n\t[line  3]: 'x\\n'\n\t[line  4]: \"y'\\n\"",
		"[a]\n[b]\n[a]\n":                 bad + ", line 3:\nWhile reading from 'f' [line  3]: section 'a' already exists",
		"[a]\nx=1\ny=1\nx=1":              bad + ", line 4:\nWhile reading from 'f' [line  4]: option 'x' in section 'a' already exists",
		"[a]\nx=%H\n":                     bad + ":\n'%' must be followed by '%' or '(', found: '%H'",
		"[a]\nx=%(y\n":                    bad + ":\nbad interpolation variable reference '%(y'",
		"[a]\nx=%(x)s\n":                  bad + ":\nRecursion limit exceeded in value substitution: option 'x' in section 'a'.",
		"[a]\nx=\xff\n":                   bad + ":\nThe file is not UTF-8.",
	} {
		sections, err := parse(text)
		got := any(sections)
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestINILimits is about values that grow when others are put into them.
func TestINILimits(t *testing.T) {
	text := "[a]\nx0 = " + strings.Repeat("x", 100_000) + "\n"
	for _, level := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		text += "x" + level + " = " + strings.Repeat("%(x"+string(level[0]-1)+")s", 50) + "\n"
	}
	if _, err := parse(text); err == nil || !strings.Contains(err.Error(), "is longer than") {
		t.Errorf("error %v", err)
	}
	text = "[a]\nx0 =\n"
	for level := 1; level < 9; level++ { // values that do not grow, but take long
		text += fmt.Sprintf("x%d = %s\n", level, strings.Repeat(fmt.Sprintf("%%(x%d)s", level-1), 50))
	}
	if _, err := parse(text); err == nil || !strings.Contains(err.Error(), "Recursion limit") {
		t.Errorf("error %v", err)
	}
	if _, err := parseINI("f", make([]byte, maxConfigFile+1)); err == nil || !strings.Contains(err.Error(), "is longer than") {
		t.Errorf("error %v", err)
	}
}

func FuzzINI(f *testing.F) {
	for _, seed := range []string{"", "[a]\nx=1\n y\n", "[DEFAULT]\nx=%(y)s\n[b]\ny:%%\n", "[a]\n=\n", "[global]\na.label=x\na=b,c\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := parse(text)
		for _, entries := range sections {
			for _, e := range entries {
				if len(e.value) > 2*maxValue+len(text) {
					t.Errorf("a value of %d bytes", len(e.value))
				}
			}
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
		file, err := parseINI("f", []byte(text))
		if err != nil {
			return
		}
		c := &Config{files: []*iniFile{file}}
		o := NewOptions()
		_ = c.Apply(&o, c.Sets()...)
		for _, set := range c.Sets() {
			specs, err := c.Specs([]string{":" + set}, true)
			for _, s := range specs {
				if err == nil && (s.Width < Unset || s.Precision < Unset) {
					t.Errorf("%+v", s)
				}
			}
		}
	})
}

// write writes files into a new directory.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConfigFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"b.conf": "[options]\nsamples=2\nwidth=9\n[s]\ninterval=5\nx=m.b,L\n[global]\ng=g.b\nh=h\n",
		"a.conf": "[options]\nsamples=1\nprecision=1\nheader=no\n[s]\ntimestamp=yes\ny=m.a\n[t]\nm.c=,,,raw\nz=q\nz.formula = max(a,b)\nz.width=7\n[global]\ng=g.a\n",
		"c.txt":  "[",
	})
	c, err := LoadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := NewOptions()
	if err := c.Apply(&o, "s", "nosuch"); err != nil {
		t.Fatal(err)
	}
	if o.Samples != 2 || o.Width != 9 || o.Precision != 1 || o.Header || !o.Timestamp || o.Interval != 5*time.Second {
		t.Errorf("options %+v", o)
	}
	plain := func(name, label string) Spec { return Spec{Name: name, Label: label, Width: Unset, Precision: Unset} }
	raw := Spec{Name: "m.c", Type: "raw", Width: Unset, Precision: Unset}
	formula := Spec{Name: "q", Width: 7, Precision: Unset, Formula: "max(a,b)"}
	got, err := c.Specs([]string{"m.x", ":s", "m.y", ":t"}, true)
	if err != nil {
		t.Fatal(err)
	}
	compact := plain("x", "m.b")
	compact.Instances = []string{"L"}
	want := []Spec{plain("g.a", ""), plain("g.b", ""), plain("h", ""), plain("m.x", ""), compact, raw, formula, plain("m.y", "")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s", "t"}, c.Sets()); diff != "" {
		t.Error(diff)
	}
}
