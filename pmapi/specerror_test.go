package pmapi

import (
	"errors"

	"github.com/pcp-go/pcp/internal/wording"
)

// CaretText is the text of an error. That of a SpecError has a caret below the error, as in the
// messages of the C library.
func CaretText(err error) string {
	e, ok := errors.AsType[*SpecError](err)
	if !ok {
		return err.Error()
	}
	return wording.Caret(e.Text, e.Offset, e.Msg)
}
