package pcptool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func TestReport(t *testing.T) {
	var stderr strings.Builder
	c := &Command{Name: "pmx", Synopsis: "[options]", Stderr: &stderr}
	const usage = "Usage: pmx [options]\n"
	for _, tt := range []struct {
		err    error
		want   string
		status int
		cause  error
	}{
		{err: nil},
		{err: errors.New("\x1b[2J"), want: "pmx: \\x1b[2J\n", status: 1},
		{err: c.Errorf("\a%w", pdu.ErrName), want: "pmx: \\x07Unknown metric name\n", status: 1, cause: pdu.ErrName},
		{err: pdu.ErrName, want: "pmx: Unknown metric name\n", status: 1, cause: pdu.ErrName},
		{err: c.Errorf("a.b: %w", pdu.ErrName), want: "pmx: a.b: Unknown metric name\n", status: 1, cause: pdu.ErrName},
		{err: c.UsageErrorf("too many: %d\n", 3), want: "too many: 3\n" + usage, status: 1, cause: tool.ErrUsage},
		{err: c.unsupportedError("archives"), want: "pmx: archives are not supported by this version\n", status: 1, cause: errors.ErrUnsupported},
		{err: fmt.Errorf("wrapped: %w", &ExitError{Message: "version 1\n"}), want: "version 1\n"},
	} {
		stderr.Reset()
		if status := c.Report(tt.err); status != tt.status || stderr.String() != tt.want {
			t.Errorf("%v: status %d, %q, want %d, %q", tt.err, status, stderr.String(), tt.status, tt.want)
		}
		if tt.cause != nil && !errors.Is(tt.err, tt.cause) {
			t.Errorf("%v: is not %v", tt.err, tt.cause)
		}
	}
	slow := &ExitError{Err: fmt.Errorf("dial: %w", context.DeadlineExceeded)}
	if other := (&ExitError{Err: pdu.ErrName}); !slow.Timeout() || other.Timeout() {
		t.Errorf("Timeout: %t of a time-out, %t of another error", slow.Timeout(), other.Timeout())
	}
}

// TestReportRedirected has messages on the command line written to a file, and no others.
func TestReportRedirected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "messages")
	t.Setenv("PCP_STDERR", file)
	var stderr strings.Builder
	c := &Command{Name: "pmx", Synopsis: "[options]", Stderr: &stderr}
	c.Report(&ExitError{redirected: true})
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a file without a message")
	}
	c.Report(c.UsageErrorf("one\n"))
	c.Report(c.Errorf("two"))
	_, err := c.Parse([]string{"-x"})
	c.Report(err)
	got, err := os.ReadFile(file)
	const usage = "Usage: pmx [options]\n"
	if want := "one\n" + usage + "pmx: invalid option -- 'x'\n" + usage; string(got) != want || err != nil {
		t.Errorf("file: got %q, %v, want %q", got, err, want)
	}
	if want := "pmx: two\n"; stderr.String() != want {
		t.Errorf("standard error: got %q, want %q", stderr.String(), want)
	}
}

// TestReportDialog makes the program of PCP_XCONFIRM_PROG show messages. Without such a program
// they go to standard error.
func TestReportDialog(t *testing.T) {
	t.Setenv("PCP_STDERR", "DISPLAY")
	var stderr strings.Builder
	c := &Command{Name: "pmx", Synopsis: "[options]", Stderr: &stderr}
	const usage = "Usage: pmx [options]\n"
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("PCP_XCONFIRM_PROG", none)
	c.Report(c.UsageErrorf(""))
	if want := "pmx: using stderr - cannot access " + none + ": No such file or directory\n" + usage; stderr.String() != want {
		t.Errorf("without a program: got %q, want %q", stderr.String(), want)
	}
	if runtime.GOOS == "windows" {
		return // the program below is a shell's
	}
	shown := filepath.Join(t.TempDir(), "shown")
	script := "#!/bin/sh\nprintf '%s|' \"$@\" >'" + shown + "'\nexit 3\n"
	if err := os.WriteFile(none, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	c.Report(c.UsageErrorf("one\n"))
	got, err := os.ReadFile(shown)
	if want := "-t|one\n" + usage + "|-c|-B|OK|-icon|info|-useslider|-header|PCP Information|"; string(got) != want || err != nil || stderr.String() != "" {
		t.Errorf("arguments of the program: got %q, %v, want %q; standard error: %q", got, err, want, stderr.String())
	}
}

// A reply that is too long is reported with the length, the limit and what to do; other errors with
// PCP's text.
func TestCause(t *testing.T) {
	long := new(pmapi.LimitError)
	for _, tt := range []struct{ err, want error }{
		{nil, nil},
		{fmt.Errorf("lost: %w", long), long},
		{&pmapi.OpError{Op: "fetch", Err: pdu.ErrAgain}, pdu.ErrAgain},
		{context.DeadlineExceeded, pdu.ErrTimeout},
	} {
		if got := Cause(tt.err); got != tt.want {
			t.Errorf("Cause(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
