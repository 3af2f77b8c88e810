package mmv

import (
	"errors"
	"fmt"
)

// Errors that a caller may want to distinguish. Test for them with errors.Is.
var (
	// ErrFormat says that a file is malformed. The message names the section, the offset and the
	// flaw.
	ErrFormat = errors.New("malformed MMV file")

	// ErrInFlux says that a file is being written: its two generation numbers are 0 or differ, or
	// it has changed while it was read. It will be complete soon, if its writer lives. Such an
	// error is ErrFormat, too.
	ErrInFlux = errors.New("the file is being written")

	// ErrChanged says that a file has changed since it was read: its generation number is
	// different, or it has become shorter. Open it again.
	ErrChanged = errors.New("the file has changed since it was opened")

	// ErrNoValue says that a metric or an instance has no value now: its file has a sentinel there.
	ErrNoValue = errors.New("no value")
)

// A formatError is an ErrFormat: the place and the description of a flaw.
type formatError struct {
	file    string // path; empty if the source is no file
	section string // "header", "metrics", …
	offset  int64  // from the beginning of the file, of the field or record that is wrong
	problem string
	err     error // ErrInFlux, a pdu.Error, or nil
}

// Error returns one line with all fields except the text of a pdu.Error.
func (e *formatError) Error() string {
	s := fmt.Sprintf("mmv: %s: %s at offset %d: %s", e.file, e.section, e.offset, e.problem)
	if e.file == "" {
		s = fmt.Sprintf("mmv: %s at offset %d: %s", e.section, e.offset, e.problem)
	}
	if e.err == ErrInFlux {
		s += ": " + ErrInFlux.Error()
	}
	return s
}

func (e *formatError) Unwrap() error { return e.err }

func (e *formatError) Is(target error) bool { return target == ErrFormat }
