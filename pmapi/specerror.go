package pmapi

import (
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// A SpecError is a syntax error in an interval, a point of time, a metric specification or a host
// specification. It wraps pdu.ErrGeneric, or ErrAlignment if the interval of WindowSpec.Align is
// valid but cannot be applied.
type SpecError struct {
	What   string // "interval", "alignment", "time", "metric specification" or "host specification"
	Text   string // the text that was parsed, without a prefix such as '@'; a password is redacted
	Offset int    // where in Text the error is, from 0 to len(Text)
	Msg    string // what was found there or expected

	cause error // nil means pdu.ErrGeneric
}

// Error returns the text, the message and what follows the offset.
func (e *SpecError) Error() string {
	return "bad " + e.What + " " + wording.Syntax(e.Text, e.Offset, e.Msg)
}

// Unwrap returns pdu.ErrGeneric or ErrAlignment.
func (e *SpecError) Unwrap() error {
	if e.cause != nil {
		return e.cause
	}
	return pdu.ErrGeneric
}
