package twin

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// masks replace what differs between two runs of one tool.
var masks = map[string]struct {
	pattern *regexp.Regexp
	with    string
}{
	"date":    {regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "DATE"},
	"time":    {regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	"minute":  {regexp.MustCompile(`:\d\d:\d\d(\.\d+)?`), ":MM:SS"},
	"digits":  {regexp.MustCompile(`\d`), "0"},
	"numbers": {regexp.MustCompile(` *[-+]?\d+(\.\d*)?([eE][-+]\d+)? *`), " N "},
	"bytes":   {regexp.MustCompile(`\[[0-9a-f]{16,}\]`), "[BYTES]"},
}

// A Runner runs lines.
type Runner struct {
	// Program returns the path of our tool.
	Program func(tool string) string
}

// limit is how long a run may take.
const limit = time.Minute

// Compare runs a line with the real tool and with ours, and returns how they differ, lines of the real one marked "-".
// Empty means that they do not. What differs by accident, since a busy machine has held up one of the two, does not do so
// each time: the last of some runs counts.
func (r *Runner) Compare(t testing.TB, l Line) string {
	t.Helper()
	const tries = 3
	difference := r.compare(t, l)
	for n := 1; n < tries && difference != "" && l.Differs == ""; n++ {
		difference = r.compare(t, l)
	}
	return difference
}

// compare is one try of Compare.
func (r *Runner) compare(t testing.TB, l Line) string {
	t.Helper()
	want := run(t, l, pcptest.Tool(t, l.Tool()))
	if want.status == endless {
		return "the real tool does not end\n"
	}
	got := run(t, l, r.Program(l.Tool()))
	var all string
	for _, c := range [...]struct{ what, want, got string }{
		{"standard output", want.stdout, got.stdout},
		{"standard error", want.stderr, got.stderr},
		{"exit status", want.status, got.status},
	} {
		if d := diff(c.want, c.got); d != "" {
			all += c.what + ":\n" + d
		}
	}
	return all
}

// A result is what a run leaves behind.
type result struct{ stdout, stderr, status string }

// endless is the status of a run that took too long.
const endless = "none, killed\n"

func run(t testing.TB, l Line, program string) result {
	t.Helper()
	for _, argv := range l.Before {
		if stdout, stderr, status := pcptest.Run(t, nil, "", argv...); status != 0 {
			t.Fatalf("%s: before it, %s: status %d\n%s%s", l, strings.Join(argv, " "), status, stdout, stderr)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, l.Args[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(pcptest.Env(), l.Env...)
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	res := result{l.mask(stdout.String()), l.mask(stderr.String()), fmt.Sprintln(cmd.ProcessState)}
	switch {
	case ctx.Err() != nil:
		res.status = endless
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
