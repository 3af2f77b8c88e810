package toolcmp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// masks are replacements for output that differs between two runs of one tool.
var masks = map[string]struct {
	pattern *regexp.Regexp
	with    string
}{
	"date":    {regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "DATE"},
	"time":    {regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	"minute":  {regexp.MustCompile(`:\d\d:\d\d(\.\d+)?`), ":MM:SS"},
	"digits":  {regexp.MustCompile(`\d`), "0"},
	"numbers": {regexp.MustCompile(` *[-+]?\d+(\.\d*)?([eE][-+]\d+)? *`), " N "},
	"amounts": {regexp.MustCompile(` *\b\d+(\.\d+)?[KMmg]?\b`), " N"},
	"clients": {regexp.MustCompile(`(, )?\b\d+ clients?\b`), ""}, // of a collector that other lines have, too: it tells of them if there are several
	"bytes":   {regexp.MustCompile(`\[[0-9a-f]{16,}\]`), "[BYTES]"},
}

// A Runner runs the lines of a table.
type Runner struct {
	// Program returns the path of our tool.
	Program func(tool string) string
}

// runTimeout limits the duration of a run. A longer run is a difference and does not fail the test
// as with pcptest.Run.
const runTimeout = time.Minute

// Compare runs a line with the real tool and with ours, and returns the difference, with lines of
// the real tool marked "-", or "" without a difference. On a busy machine one of the two may be
// late and differ by accident. Therefore only a difference in three consecutive tries counts.
func (r *Runner) Compare(t testing.TB, l Line) string {
	t.Helper()
	const tries = 3
	difference := r.compare(t, l)
	for n := 1; n < tries && difference != "" && l.Differs == ""; n++ {
		difference = r.compare(t, l)
	}
	return difference
}

// compare is Compare with one try.
func (r *Runner) compare(t testing.TB, l Line) string {
	t.Helper()
	want := runLine(t, l, pcptest.Tool(t, l.Tool()))
	if want.status == neverEnds {
		return "the real tool does not end\n"
	}
	return difference(want, runLine(t, l, r.Program(l.Tool())))
}

// difference returns the difference between two runs, "" if they are equal.
func difference(want, got result) string {
	var all string
	for _, c := range [...]struct{ what, want, got string }{
		{"standard output", want.stdout, got.stdout},
		{"standard error", want.stderr, got.stderr},
		{"exit status", want.status, got.status},
		{"messages", want.messages, got.messages},
	} {
		if d := diff(c.want, c.got); d != "" {
			all += c.what + ":\n" + d
		}
	}
	return all
}

// A result is the output of a run, its exit status in words, and the messages that it wrote to the
// file that PCP_STDERR names.
type result struct{ stdout, stderr, status, messages string }

// neverEnds is the status of a run that was killed after runTimeout.
const neverEnds = "none, killed\n"

func runLine(t testing.TB, l Line, program string) result {
	t.Helper()
	for _, argv := range l.Before {
		if stdout, stderr, status := pcptest.Run(t, nil, "", argv...); status != 0 {
			t.Fatalf("%s: before it, %s: status %d\n%s%s", l, strings.Join(argv, " "), status, stdout, stderr)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, l.Args[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(pcptest.Env(), l.Env...)
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	res := result{l.mask(stdout.String()), l.mask(pcptest.WithoutTypos(stderr.String())), fmt.Sprintln(cmd.ProcessState), ""}
	if messages, err := os.ReadFile(filepath.Join(cmd.Dir, "messages")); err == nil {
		res.messages = pcptest.WithoutTypos(string(messages))
	}
	switch {
	case ctx.Err() != nil:
		res.status = neverEnds
	case cmd.ProcessState == nil:
		t.Fatalf("%s: %v", l, err)
	}
	return res
}

func (l Line) mask(text string) string {
	for _, name := range l.Masks {
		text = masks[name].pattern.ReplaceAllString(text, masks[name].with)
	}
	return text
}
