package toolcmp

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// Which command lines are generated. All of PCP's test archives and 300 lines take minutes.
var (
	replayLines = flag.Int("replay.lines", 40, "run `n` generated command lines on archives")
	replaySeed  = flag.Uint64("replay.seed", 1, "generate the command lines of this seed")
	replayFirst = flag.Int("replay.first", 0, "begin with the `n`th command line of the seed")
	replayTool  = flag.String("replay.tool", "", "generate command lines of the `tool` alone")
	replayOnly  = flag.String("replay.archive", "", "generate command lines on archives with this in their `name` alone")
)

// mostExcused is how many of a hundred generated lines may differ on purpose.
const mostExcused = 1

// TestInteropReplay runs generated command lines of the tools that replay archives.
func TestInteropReplay(t *testing.T) {
	pcptest.Need(t, testSuite+"/archives")
	g := newGenerator(t)
	excused, ran := 0, 0
	for i := *replayFirst; i < *replayFirst+*replayLines; i++ {
		l := g.line(t, *replaySeed, i)
		want := runLine(t, l, pcptest.Tool(t, l.Tool()))
		if want.status == neverEnds {
			continue
		}
		got := runLine(t, l, pcptest.Build(t, "./examples/"+l.Tool()))
		ran++
		switch why := excuse(l.Tool(), want, got); {
		case want == got:
		case why != "":
			excused++
			t.Logf("%s\ndiffers on purpose: %s", l, why)
		default:
			t.Errorf("%s\n(-PCP +ours):\n%.4000s", l, difference(want, got))
		}
	}
	t.Logf("%d command lines, of which %d differ on purpose", ran, excused)
	if excused*100 > ran*mostExcused+100 {
		t.Errorf("%d of %d lines differ on purpose, more than %d %%", excused, ran, mostExcused)
	}
}

// Where the real tools are known to do something else, as their output shows.
var knownTexts = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`:\d\d\.1(000|0{6}|0{9})\b`), "PCP prints a second as 1000 milliseconds if a step ends there"},
	{regexp.MustCompile(`\d missed\)|\d event records timestamps`), "PCP miscounts the records of missed events"},
	{regexp.MustCompile(`Host: [^,]*, (\d\d+|[89]) cpu\(s\)`), "PCP numbers processors by the order in a hash table"},
}

// excuse returns the reason for a deliberate difference of a command line, or "".
func excuse(tool string, want, got result) string {
	for _, k := range knownTexts {
		if k.pattern.MatchString(want.stdout) {
			return k.reason
		}
	}
	switch {
	case strings.HasPrefix(want.status, "signal:"):
		return Crash
	case tool == "pmval" && want.stderr == got.stderr && want.status == got.status && slices.Equal(comparableRows(want, got)):
		return "beside a mark, what PCP finds depends on what it has read before"
	}
	return ""
}

// row is the beginning of a row of pmval: the time in an archive.
var row = regexp.MustCompile(`^(\w+ \w+ [ \d]\d )?\d\d:\d\d:\d\d\.\d+`)

// comparableRows returns the lines of two outputs. It omits pmval's rows for a time if one of the
// outputs has no values for it.
func comparableRows(want, got result) (w, g []string) {
	missing := map[string]bool{}
	for _, text := range []string{want.stdout, got.stdout} {
		for l := range strings.Lines(text) {
			if at := row.FindString(l); strings.HasSuffix(l, "No values available\n") || strings.Contains(l, " ?") {
				missing[at] = true
			}
		}
	}
	if len(missing) == 0 {
		return []string{want.stdout}, []string{got.stdout}
	}
	rows := func(text string) (list []string) {
		for l := range strings.Lines(text) {
			if at := row.FindString(l); at != "" && !missing[at] {
				list = append(list, l)
			}
		}
		return list
	}
	return rows(want.stdout), rows(got.stdout)
}

// describe formats a generated line so that a shell can run it.
func describe(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = strings.ReplaceAll(a, testSuite+string(filepath.Separator), "")
		if strings.ContainsAny(words[i], " '\"[]") || words[i] == "" {
			words[i] = fmt.Sprintf("%q", words[i])
		}
	}
	return strings.Join(words, " ")
}
