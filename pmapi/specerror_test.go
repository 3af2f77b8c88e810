package pmapi

import "errors"

// CaretText is the text of an error. That of a SpecError has a caret below the error, as in the
// messages of the C library.
func CaretText(err error) string {
	e, ok := errors.AsType[*SpecError](err)
	if !ok {
		return err.Error()
	}
	indent := []byte(e.Text[:e.Offset])
	for i, c := range indent {
		if c > ' ' && c < 0x7f {
			indent[i] = ' '
		}
	}
	return e.Text + "\n" + string(indent) + "^ -- " + e.Msg
}
