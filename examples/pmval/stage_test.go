package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/stage"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var update = flag.Bool("update", false, "record what the real pmval prints")

// golden has what the real pmval prints of the plays: lines "$ ARGUMENTS", and below each "1 TEXT$" for a line on standard
// output, "2 TEXT$" for one on standard error, and "= STATUS".
const golden = "testdata/stage.txt"

// differing are the lines in which ours is different, and why.
var differing = map[string]string{
	"-s 12 'c.string'":    "the real one names a function of its own",
	"-s 1 -x 5 v.i.empty": "the real one sends what has no values",
}

// stageLines are what pmval is asked of the play.
func stageLines(p stage.Play) (lines []string) {
	for _, m := range p.Metrics {
		n := 4
		switch {
		case strings.Contains(m.Name, "sizes"), strings.Contains(m.Name, "from 0"):
			n = 2*len(sizes) + 1
		case strings.HasPrefix(m.Name, "c."), strings.HasPrefix(m.Name, "v."):
			n = 12
		}
		line := fmt.Sprintf("-s %d '%s'", n, m.Name)
		lines = append(lines, line)
		if strings.HasPrefix(m.Name, "c.") {
			lines = append(lines, "-r "+line)
		}
	}
	for w := 1; w <= 12; w++ {
		lines = append(lines, fmt.Sprintf("-s 9 -w %d c.i.gaps", w), fmt.Sprintf("-s 72 -w %d 'c.from 0'", w), fmt.Sprintf("-s 8 -w %d i.strings", w),
			fmt.Sprintf("-s 3 -w %d c.i.odd64", w), fmt.Sprintf("-s 3 -w %d v.i.odd", w))
		for f := range 4 {
			lines = append(lines, fmt.Sprintf("-s 4 -f %d -w %d v.i.gaps", f, w), fmt.Sprintf("-s 4 -f %d -w %d c.i.gaps", f, w))
		}
	}
	for _, name := range []string{"c.32", "c.u32", "c.64", "c.u64", "c.float", "c.big"} {
		lines = append(lines, "PCP_COUNTER_WRAP= -s 7 "+name)
	}
	return append(lines, strings.Split(strings.TrimSpace(otherLines), "\n")...)
}

const otherLines = `
-s 72 -f 2 'c.from 0'
-s 72 -f 0 'c.from 0'
-s 6 -i a c.i.gaps
-s 6 -i c,a v.i.gaps
-s 6 -i a,a,c v.i.gaps
-s 6 -i c -r c.i.gaps
-s 2 -i 'a,d' v.i.gaps
-s 6 -i a v.i.grow
-s 2 -i b v.i.grow
-s 2 -i a v.i.empty
-s 2 -i a v.i.nodomain
-s 2 -i '"b with blank"' v.i.odd
-s 2 -i "'b with blank' a" v.i.odd
-s 2 -i '"a name longer than a column is",a' v.i.odd
-s 2 v.i.odd["b with blank"]
-s 2 v.i.odd[a,café]
-s 2 -i a v.good
-s 2 -i '' v.i.gaps
-s 2 -i '' c.i.gaps
-s 2 -i ' ' v.good
-s 2 -i a e.insts
-s 2 -i c,b,a e.insts
-s 3 -Z EST5EDT e.low
-s 3 -f 2 -w 3 e.low
-s 1 -w 30 e.low
-s 1 -v -X e.high
-s 0 v.good
-s 0 c.good
-s 0 e.low
-s 1 v.good
-s 1 c.good
-s 1 -f 2 v.good
-s 1 -f 20 v.good
-s 1 -f 19 v.good
-s 1 -w 200 v.good
-s 1 -x 5 v.good
-s 1 -x 5 v.i.gaps
-s 1 -x a v.good
-s 1 -x 5 v.i.empty
-s 2 nosuch
-s 2 v.good nosuch
-s 2 -Z UTC v.good
-s 2 -Z UTC type.-1
-s 2 -f 30 type.-1
`

// script turns lines into arguments.
func script(t *testing.T, addr, line string) (env, args []string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(line, "PCP_COUNTER_WRAP= "); ok {
		env, line = []string{"PCP_COUNTER_WRAP="}, rest
	}
	args = []string{"-h", addr, "-t", "1msec"}
	var word []byte
	in, quote := false, byte(0)
	for _, c := range []byte(line + " ") {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && c == '\'', quote == 0 && c == '"' && !strings.Contains(line, "["):
			quote, in = c, true
		case quote == 0 && c == ' ' && !strings.Contains(string(word), "["):
			if in {
				args, word, in = append(args, string(word)), nil, false
			}
		default:
			word, in = append(word, c), true
		}
	}
	if in {
		args = append(args, strings.TrimSuffix(string(word), " "))
	}
	return env, args
}

// perform runs a program on the lines and returns what it prints, as in the golden file.
func perform(t *testing.T, program string) map[string]string {
	play := newPlay(t)
	addr := stage.Start(t, play)
	got := map[string]string{}
	for _, line := range stageLines(play) {
		env, args := script(t, addr, line)
		stdout, stderr, status := pcptest.Run(t, env, "", append([]string{program}, args...)...)
		var b strings.Builder
		for i, text := range []string{stdout, stderr} {
			for l := range strings.Lines(text) {
				fmt.Fprintf(&b, "%d %s$\n", i+1, strings.TrimSuffix(l, "\n"))
			}
		}
		fmt.Fprintf(&b, "= %d\n", status)
		got[line] = b.String()
	}
	return got
}

func readGolden(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(string(text), "$ "), "\n$ ") {
		line, printed, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n")
		want[line] = printed + "\n"
	}
	return want
}

func TestStage(t *testing.T) {
	want, got := readGolden(t), perform(t, pcptest.Build(t, "./examples/pmval"))
	for line, printed := range got {
		switch diff := cmp.Diff(want[line], printed); {
		case differing[line] == "" && diff != "":
			t.Errorf("pmval %s (-want +got):\n%s", line, diff)
		case differing[line] != "" && diff == "":
			t.Errorf("pmval %s no longer differs: %s", line, differing[line])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, %d in %s: record it anew", len(got), len(want), golden)
	}
}

// TestInteropStage checks that the golden file is what the installed pmval prints.
func TestInteropStage(t *testing.T) {
	pcptest.Need(t, "pmval")
	got := perform(t, "pmval")
	if *update {
		var b strings.Builder
		for _, line := range stageLines(newPlay(t)) {
			if printed, ok := got[line]; ok {
				b.WriteString("$ " + line + "\n" + printed)
				delete(got, line)
			}
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(readGolden(t), got); diff != "" {
		t.Errorf("(-%s +pmval):\n%s", golden, diff)
	}
}

var _ = pdu.NoPMID
