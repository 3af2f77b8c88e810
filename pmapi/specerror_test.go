package pmapi

import (
	"errors"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/wording"
)

// CaretText returns the text of an error. For a SpecError it has a caret below the place of the
// error, as in the messages of the C library.
func CaretText(err error) string {
	if e, ok := errors.AsType[*SpecError](err); ok {
		return wording.Caret(e.Text, e.Offset, e.Msg)
	}
	if e, ok := errors.AsType[*hostspec.Error](err); ok {
		return wording.Caret(e.Text, e.Offset, e.Msg)
	}
	return err.Error()
}
