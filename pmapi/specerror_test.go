package pmapi

import (
	"errors"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/wording"
)

// CaretText is the text of an error. That of a SpecError has a caret below the error, as in the
// messages of the C library.
func CaretText(err error) string {
	if e, ok := errors.AsType[*SpecError](err); ok {
		return wording.Caret(e.Text, e.Offset, e.Msg)
	}
	if e, ok := errors.AsType[*hostspec.Error](err); ok {
		return wording.Caret(e.Text, e.Offset, e.Msg)
	}
	return err.Error()
}
