package scripted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A Case is a run of a tool with a collector or an archive.
type Case struct {
	Title     string // in the golden file; empty stands for the arguments
	Collector Collector
	Archive   string // in the place of the collector
	Env       []string
	Args      []string // after -h and the collector's address, or -a and the archive
}

func (c Case) title() string {
	if c.Title != "" {
		return c.Title
	}
	return strings.Join(c.Args, " ")
}

// A Suite compares a tool of ours with the real PCP's tool of the same name. The output of the real
// tool is in golden files:
//
//	$ TITLE
//	1 a line on standard output|
//	2 a line on standard error|
//	= exit status
type Suite struct {
	Tool    string
	Golden  string // a directory, for several files of a moderate size
	Cases   []Case
	Differs map[string]string // titles of cases in which ours differs on purpose, and why

	// Adapt removes the additional output of a later PCP from our output. Nil removes nothing.
	Adapt func(printed string) string
}

// Test compares the output of our tool with the golden files.
func (s *Suite) Test(t *testing.T) {
	want, got := s.readGolden(t), s.runCases(t, pcptest.Build(t, "./examples/"+s.Tool))
	for _, c := range s.Cases {
		title := c.title()
		printed := got[title]
		if s.Adapt != nil {
			printed = s.Adapt(printed)
		}
		diff, why := cmp.Diff(want[title], printed), s.Differs[title]
		switch {
		case why == "" && diff != "":
			t.Errorf("%s %s (-PCP +ours):\n%s", s.Tool, title, diff)
		case why != "" && diff == "":
			t.Errorf("%s %s: no longer differs: %s", s.Tool, title, why)
		}
	}
	if len(want) != len(s.Cases) {
		t.Errorf("%d cases, but %d in %s: record it anew", len(s.Cases), len(want), s.Golden)
	}
}

// TestInterop compares the output of the installed tool with the golden files, or writes them if
// update is true.
func (s *Suite) TestInterop(t *testing.T, update bool) {
	pcptest.Need(t, s.Tool)
	got := s.runCases(t, s.Tool)
	if update {
		s.writeGolden(t, got)
	}
	if diff := cmp.Diff(s.readGolden(t), got); diff != "" {
		t.Errorf("(-%s +%s):\n%s", s.Golden, s.Tool, diff)
	}
}

// atOnce is the number of cases that run at the same time. They mostly wait for their next sample.
const atOnce = 4

// runCases runs the cases with a program and returns its output by their titles.
func (s *Suite) runCases(t *testing.T, program string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for rest := s.Cases; len(rest) != 0; {
		n := 1
		for n < min(atOnce, len(rest)) && slices.Equal(rest[n].Env, rest[0].Env) {
			n++
		}
		argvs := make([][]string, n)
		for i, c := range rest[:n] {
			argvs[i] = c.argv(t, program)
		}
		for i, out := range pcptest.RunAll(t, rest[0].Env, argvs...) {
			title := rest[i].title()
			if _, twice := got[title]; twice {
				t.Fatalf("two cases %q", title)
			}
			got[title] = golden(out)
		}
		rest = rest[n:]
	}
	return got
}

// argv returns the command line of a case. It starts the collector.
func (c Case) argv(t *testing.T, program string) []string {
	argv := []string{program, "-a", c.Archive}
	if c.Archive == "" {
		argv = []string{program, "-h", c.Collector.Serve(t)}
	}
	return append(argv, c.Args...)
}

// golden returns an output in the format of golden files.
func golden(out pcptest.Output) string {
	var b strings.Builder
	for i, text := range []string{out.Stdout, out.Stderr} {
		for l := range strings.Lines(text) {
			fmt.Fprintf(&b, "%d %s|\n", i+1, strings.TrimSuffix(l, "\n"))
		}
	}
	fmt.Fprintf(&b, "= %d\n", out.Status)
	return b.String()
}

// largeGolden is the length in bytes above which the next case starts another golden file.
const largeGolden = 64 << 10

// writeGolden replaces all golden files by the printed output.
func (s *Suite) writeGolden(t *testing.T, printed map[string]string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(s.Golden), os.MkdirAll(s.Golden, 0o755)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	files := 0
	flush := func() {
		if err := os.WriteFile(filepath.Join(s.Golden, fmt.Sprintf("%02d.txt", files)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		b.Reset()
		files++
	}
	for _, c := range s.Cases {
		b.WriteString("$ " + c.title() + "\n" + printed[c.title()])
		if b.Len() > largeGolden {
			flush()
		}
	}
	flush()
}

// readGolden returns the output of the real tool in the golden files by the titles of the cases.
func (s *Suite) readGolden(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Golden, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq("\n"+string(text), "\n$ ") {
			if title, printed, ok := strings.Cut(part, "\n"); ok && title != "" {
				want[title] = strings.TrimSuffix(printed, "\n") + "\n"
			}
		}
	}
	return want
}
