package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// warn prints a warning of the library as PCP's tool does.
func (x *extract) warn(err error) {
	text := ""
	switch e := err.(type) {
	case *logextract.SelectError:
		text = fmt.Sprintf("Warning [%s, line %d]\n", x.config, e.Metric.Line)
		switch {
		case e.Name == "":
			text += fmt.Sprintf("Problem with lookup for metric \"%s\" ... metric ignored\nReason: %v\n", e.Metric.Name, pcptool.Cause(e.Err))
		case e.Instance == "":
			text += fmt.Sprintf("None of the instances for metric \"%s\" are valid, metric not extracted\n", e.Name)
		default:
			text += fmt.Sprintf("Instance \"%s\" is not defined for the metric \"%s\"\n", e.Instance, e.Name)
		}
	case *logextract.MismatchError:
		text = fmt.Sprintf("%s: Warning: timezone mismatch for input archives\narchive: %s timezone: %s [will be used]\narchive: %s timezone: %s [will be ignored]\n",
			x.Name, e.Used, e.Want, e.Archive, e.Got)
	case *logextract.SkippedError:
		text = "Warning: the metrics below will be missing from the output archive\n"
		for _, id := range e.IDs {
			text += fmt.Sprintf("\tPMID: %v\n", id)
		}
	case *logextract.ConflictError:
		text = fmt.Sprintf("%s: Warning: %s\n", x.Name, conflict(e))
	case *logextract.InputError:
		text = x.inputMessage(e)
	default:
		text = fmt.Sprintf("%s: Warning: %v\n", x.Name, err)
	}
	fmt.Fprint(os.Stderr, terminal.Escape(text))
}

// newVolume reports another volume of the output.
func (x *extract) newVolume(number int, t time.Time) {
	clock := logtext.Clock{Location: x.Location, Digits: logtext.Nanos}
	fmt.Fprint(os.Stderr, terminal.Escape(fmt.Sprintf("%s: New log volume %d, at %s\n", x.Name, number, clock.Append(nil, t))))
}

// conflict describes different metadata of inputs.
func conflict(e *logextract.ConflictError) string {
	switch e.What {
	case "help text":
		return e.Subject + " help text changed!"
	case "one line text":
		return fmt.Sprintf("%s one line text changed from\n  \"%s\" to\n  \"%s\"!", e.Subject, e.Old, e.New)
	}
	return e.Error()
}

// inputMessage describes a problem with an input.
func (x *extract) inputMessage(e *logextract.InputError) string {
	switch e.Op {
	case "open":
		return fmt.Sprintf("%s: Warning: %v\n", x.Name, e)
	case "end":
		return fmt.Sprintf("%s: Error: cannot get end of archive (%s): %v\n", x.Name, e.Archive, pcptool.Cause(e.Err))
	}
	at, ok := errors.AsType[*archive.Error](e.Err)
	if !ok || errors.Is(e.Err, pdu.ErrLabel) { // to PCP's tool a volume of another archive is the end
		return ""
	}
	var size int64
	if info, err := os.Stat(at.File); err == nil {
		size = info.Size()
	}
	offset := at.Offset
	if !errors.Is(e.Err, io.ErrUnexpectedEOF) {
		offset = size // to where PCP's tool has read
	}
	return fmt.Sprintf("%s: Error: __pmLogRead[log %s]: %v\n%s: Error occurred at byte offset %d into a file of %d bytes.\n"+
		"The last record, and the remainder of this file will not be extracted.\n", x.Name, e.Archive, pcptool.Cause(e.Err), x.Name, offset, size)
}

// openError returns the error of an input that cannot be opened.
func (x *extract) openError(err error) error {
	switch e, ok := errors.AsType[*logextract.InputError](err); {
	case ok && e.Op == "open":
		return x.Errorf("Error: cannot open archive \"%s\": %w", e.Archive, pcptool.Cause(e.Err))
	case ok:
		return &pcptool.ExitError{Status: 1, Message: x.inputMessage(e), Err: err}
	}
	if errors.Is(err, logextract.ErrEmpty) {
		return x.Errorf("Warning: all input archive(s) are empty, no output archive created")
	}
	return x.Errorf("Error: %w", err)
}

// configError returns the error of the file of -c.
func (x *extract) configError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*logextract.SyntaxError](err); ok {
		return &pcptool.ExitError{Status: 1, Err: err,
			Message: fmt.Sprintf("Specification error in configuration file (%s)\n[line %d] %s\n", x.config, e.Line, e.Text)}
	}
	return &pcptool.ExitError{Status: 2, Message: "input in flex scanner failed\n", Err: err}
}

// createError returns the error of an output that cannot be made from these inputs.
func (x *extract) createError(err error) error {
	if e, ok := errors.AsType[*archive.Error](err); ok {
		text := fmt.Sprintf("__pmLogNewFile: \"%s\" already exists, not over-written\n", e.File)
		if !errors.Is(err, fs.ErrExist) {
			text = fmt.Sprintf("__pmLogNewFile: failed to create \"%s\": %v\n", e.File, pcptool.Cause(err))
		}
		text += fmt.Sprintf("%s: Error: __pmLogCreate: %v\n", x.Name, pcptool.Cause(err))
		return &pcptool.ExitError{Status: 1, Message: text, Err: err}
	}
	return x.fatal(err)
}

// fatal returns the error of an extraction that has started.
func (x *extract) fatal(err error) error {
	text := ""
	mismatch, isMismatch := errors.AsType[*logextract.MismatchError](err)
	_, known := errors.AsType[pdu.Error](err)
	switch {
	case errors.Is(err, logextract.ErrNoRecords):
		text = fmt.Sprintf("%s: Warning: no qualifying records found.\n", x.Name)
	case isMismatch && mismatch.What == "version":
		text = fmt.Sprintf("%s: Error: input archive version must be no more than %s\narchive: %s version: %s\n", x.Name, mismatch.Want, mismatch.Archive, mismatch.Got)
	case isMismatch:
		text = fmt.Sprintf("%s: Error: host name mismatch for input archives\narchive: %s host: %s\narchive: %s host: %s\n",
			x.Name, mismatch.Used, mismatch.Want, mismatch.Archive, mismatch.Got)
	case known:
		text = fmt.Sprintf("%s: Error: %v\n", x.Name, pcptool.Cause(err))
	default:
		text = fmt.Sprintf("%s: Error: %v\n", x.Name, err)
	}
	return x.notCreated(text)
}

// notCreated returns the error that ends the tool without an output.
func (x *extract) notCreated(text string) error {
	if !x.job.Desperate {
		text += fmt.Sprintf("Archive \"%s\" not created.\n", x.output)
	}
	return &pcptool.ExitError{Status: 1, Message: text}
}
