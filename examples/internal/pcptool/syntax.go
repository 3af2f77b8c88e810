package pcptool

import (
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pmapi"
)

// SyntaxError returns a *pmapi.SpecError or a *hostspec.Error with the text of PCP's library: the
// specification, and on the next line a caret under the error and a message. The text has no
// newline at its end. Other errors, and nil, stay as they are.
func SyntaxError(err error) error {
	if spec, ok := errors.AsType[*pmapi.SpecError](err); ok {
		return &syntaxError{spec}
	}
	if spec, ok := errors.AsType[*hostspec.Error](err); ok {
		return &syntaxError{&pmapi.SpecError{What: "host specification", Text: spec.Text, Offset: spec.Offset, Msg: spec.Msg}}
	}
	return err
}

type syntaxError struct{ *pmapi.SpecError }

func (e *syntaxError) Error() string {
	text, msg := e.Text, e.Msg
	switch {
	case errors.Is(e.SpecError, pmapi.ErrAlignment):
		msg = "alignment specified by -A switch could not be applied"
	case e.What == "interval" && text == "":
		msg = "Null or empty specification"
	case msg == `closing " expected`:
		msg += " (pmParseMetricSpec botch?)"
	}
	return wording.Caret(text, e.Offset, msg)
}

func (e *syntaxError) Unwrap() error { return e.SpecError }

// hostSyntaxError is the text of PCP's library about a host specification that hostspec.Parse
// refuses.
func hostSyntaxError(err error) string {
	text := SyntaxError(err).Error()
	if text != err.Error() {
		text = "bad host specification\n" + text
	}
	return "pmNewContext: " + text
}

// ArchiveOptionsError is the text of PCP's library about an error of pmapi.ArchiveOptionsFromEnv.
func ArchiveOptionsError(err error) string {
	return fmt.Sprintf("bad $PCP_IGNORE_MARK_RECORDS: not in pmParseInterval(3) format:\n%v", SyntaxError(err))
}
