package pcptool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// hints reports whether to print hints: a person reads Stderr, not a program.
func (c *Command) hints() bool {
	f, ok := c.stderr().(*os.File)
	return ok && terminal.Is(f)
}

// Hint prints advice on an error whose message a tool has printed. It prints nothing if Stderr is
// not a terminal, since programs compare and parse what tools print.
func (c *Command) Hint(text string) {
	if text != "" && c.hints() {
		fmt.Fprintf(c.stderr(), "hint: %s\n", terminal.Escape(text))
	}
}

// NameHint returns advice on a metric name that a source does not know: the names that are
// similar. It returns "" for other errors, and if Hint would print nothing.
func (c *Command) NameHint(ctx context.Context, pc *pmapi.Context, name string, err error) string {
	if !errors.Is(err, pdu.ErrName) || !c.hints() {
		return ""
	}
	names, _ := pc.Traverse(ctx, "")
	return hint.Metric(name, names)
}

// WithHint returns err with advice that Report prints after its message; see Command.Hint. An error
// that is not an *ExitError stays as it is.
func WithHint(err error, text string) error {
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || text == "" {
		return err
	}
	other := *exit
	other.hint = func() string { return text }
	return &other
}

// boundsHint tells from when to when an archive has values. It is "" if the end is not known.
func boundsHint(first, last time.Time, zone *time.Location) string {
	if last.IsZero() {
		return ""
	}
	const layout = "2006-01-02 15:04:05"
	return fmt.Sprintf("the archive has values from %s to %s", first.In(zone).Format(layout), last.In(zone).Format(layout))
}
