package pmapi

import (
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A specError says where a specification is wrong: the text, and below it a
// caret with what is the matter there, as the C library prints them.
type specError struct {
	head string // a line before; empty for none
	text string
	pos  int // of the caret, 0..len(text)
	msg  string
}

func (e *specError) Error() string {
	var b strings.Builder
	if e.head != "" {
		b.WriteString(e.head)
		b.WriteByte('\n')
	}
	b.WriteString(e.text)
	b.WriteByte('\n')
	for i := range e.pos {
		if c := e.text[i]; c > ' ' && c < 0x7f {
			b.WriteByte(' ')
		} else {
			b.WriteByte(c) // a tab must stay one; the others stay with it, as in C
		}
	}
	b.WriteString("^ -- ")
	b.WriteString(e.msg)
	return b.String()
}

func (e *specError) Unwrap() error { return pdu.ErrGeneric }
