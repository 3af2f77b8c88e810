package mmv

import (
	"errors"
	"fmt"
)

// Errors that a caller may want to tell from others. Test for them with errors.Is.
var (
	// ErrInFlux says that a file is being written: its two generation numbers are 0 or differ. It
	// will be complete soon, if its writer lives.
	ErrInFlux = errors.New("the file is being written")

	// ErrChanged says that a file is not the one any more that was read: its generation number is
	// another one, or it has become shorter. Open it again.
	ErrChanged = errors.New("the file has changed since it was opened")

	// ErrNoValue says that a metric or an instance has no value now, in a file with FlagSentinel.
	ErrNoValue = errors.New("no value")
)

// A FormatError is a flaw in a file: where it is, and what is wrong.
type FormatError struct {
	File    string // path; empty if the source is no file
	Section string // "header", "metrics", …
	Offset  int64  // from the beginning of the file, of the field or record that is wrong
	Problem string
	Err     error // ErrInFlux, a pdu.Error, or nil
}

// Error is one line with all of it, but for the text of a pdu.Error.
func (e *FormatError) Error() string {
	s := fmt.Sprintf("mmv: %s: %s at offset %d: %s", e.File, e.Section, e.Offset, e.Problem)
	if e.File == "" {
		s = fmt.Sprintf("mmv: %s at offset %d: %s", e.Section, e.Offset, e.Problem)
	}
	if e.Err == ErrInFlux {
		s += ": " + ErrInFlux.Error()
	}
	return s
}

// Unwrap is e.Err.
func (e *FormatError) Unwrap() error { return e.Err }
