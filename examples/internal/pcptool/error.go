package pcptool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// An ExitError says how a tool ends: with what message and with what exit status.
type ExitError struct {
	Status  int    // 1, or 0 after -V
	Message string // for standard error, as PCP's tools write it: whole lines, of which the first begins with the tool's name
	Err     error  // the cause: tool.ErrUsage, errors.ErrUnsupported, a *pmapi.OpError, …; nil if there is none

	redirected bool          // the message goes where PCP_STDERR says
	beginning  string        // of the message, if only that goes there
	hint       func() string // advice, for a terminal
}

// Error returns the message without its last newline.
func (e *ExitError) Error() string { return strings.TrimRight(e.Message, "\n") }

// Hint returns advice on the error for a person, or "". Report prints it on a terminal.
func (e *ExitError) Hint() string {
	if e.hint == nil {
		return ""
	}
	return e.hint()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a time-out.
func (e *ExitError) Timeout() bool { return ctxwait.TimedOut(e.Err) }

// WithMessage returns a copy of e with another message. The copy still makes Report print first the
// errors in the specification of a host. With an empty message, Report prints only those.
func (e *ExitError) WithMessage(message string) *ExitError {
	other := *e
	other.Message = e.beginning + message
	return &other
}

// Errorf makes the error of a tool that ends with a message and status 1. The message begins with
// the tool's name. As in fmt.Errorf, %w makes an argument its cause; what Cause makes of an error
// has PCP's text.
func (c *Command) Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &ExitError{Status: 1, Message: fmt.Sprintf("%s: %v\n", c.Name, err), Err: errors.Unwrap(err)}
}

// Cause returns what tools print of an error: its code, with PCP's text. Of a reply that exceeds a
// limit, PCP has no text that says what to do; then it is the *pmapi.LimitError.
func Cause(err error) error {
	if long, ok := errors.AsType[*pmapi.LimitError](err); ok {
		return long
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*archive.Error](err); ok {
		return &archiveCause{pdu.FromError(err), e}
	}
	return pdu.FromError(err)
}

// An archiveCause is a code with PCP's text. Report prints its place in the archive as a hint.
type archiveCause struct {
	code  error
	where *archive.Error
}

func (e *archiveCause) Error() string { return e.code.Error() }

func (e *archiveCause) Unwrap() []error { return []error{e.code, e.where} }

// UsageErrorf makes the error of a command line that a tool cannot use: the message, which is
// printed as it stands and may be empty, and the usage message. It wraps ErrUsage.
func (c *Command) UsageErrorf(format string, args ...any) error {
	return &ExitError{Status: 1, Message: fmt.Sprintf(format, args...) + c.Usage(), Err: tool.ErrUsage, redirected: true}
}

// Usage is the usage message, which lists the options. The counterpart of pmUsageMessage(3).
func (c *Command) Usage() string { return c.parser().Usage() }

// Report prints the message of an error to Stderr and returns the exit status that goes with it: 0
// for nil, 1 for an error that is no *ExitError, which is printed after the tool's name. Control
// characters are escaped; see Escape.
//
// What Parse and UsageErrorf say of a command line, and what is wrong in a specification of a host,
// in a name space and in definitions of derived metrics, goes where the environment says, as with
// pmflush(3): PCP_STDERR is the name of a file to append to, or "DISPLAY" for a dialog, which the
// program $PCP_XCONFIRM_PROG shows.
func (c *Command) Report(err error) (status int) {
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*ExitError](err)
	if c.hints() {
		defer func() { c.Hint(hintOf(exit, err)) }()
	}
	if !ok {
		fmt.Fprintf(c.stderr(), "%s: %s\n", c.Name, terminal.Escape(err.Error()))
		return 1
	}
	if exit.redirected {
		c.printRedirected(terminal.Escape(exit.Message))
		return exit.Status
	}
	message, ok := strings.CutPrefix(exit.Message, exit.beginning)
	if ok {
		c.printRedirected(terminal.Escape(exit.beginning))
	}
	io.WriteString(c.stderr(), terminal.Escape(message))
	return exit.Status
}

// hintOf returns the advice on an error. That on a damaged archive names the file and the place.
func hintOf(exit *ExitError, err error) string {
	if exit != nil && exit.hint != nil {
		return exit.Hint()
	}
	return hint.Damage(err)
}

// printRedirected prints a message where PCP_STDERR says. The counterpart of pmprintf(3) and
// pmflush(3).
func (c *Command) printRedirected(message string) {
	if message == "" {
		return
	}
	switch name := os.Getenv("PCP_STDERR"); name {
	case "":
	case "DISPLAY":
		err := showDialog(message)
		if err == nil {
			return
		}
		fmt.Fprintf(c.stderr(), "%s: using stderr - %v\n", c.Name, err)
	default:
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err == nil {
			defer f.Close()
			io.WriteString(f, message)
			return
		}
		fmt.Fprintf(c.stderr(), "pmflush: cannot append to file '%s' (from $PCP_STDERR): %v\n", name, pdu.FromError(err))
	}
	io.WriteString(c.stderr(), message)
}

// showDialog has PCP's program for dialogs show a message, and waits until it has ended. What the
// program prints is not ours.
func showDialog(message string) error {
	program, err := Config("PCP_XCONFIRM_PROG")
	if err != nil {
		return err
	}
	dialog := exec.Command(program, "-t", message, "-c", "-B", "OK", "-icon", "info", "-useslider", "-header", "PCP Information")
	var exit *exec.ExitError
	if err := dialog.Run(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("cannot access %s: %v", program, pdu.FromError(err))
	}
	return nil
}

func (c *Command) stdout() io.Writer {
	if c.Stdout == nil {
		return os.Stdout
	}
	return c.Stdout
}

func (c *Command) stderr() io.Writer {
	if c.Stderr == nil {
		return os.Stderr
	}
	return c.Stderr
}
