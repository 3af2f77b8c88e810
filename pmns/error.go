package pmns

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A ParseError says what is wrong with a name space file and where. It is
// pdu.ErrPMNS to errors.Is.
//
// Its text is the report of the C library: one line where the fault has no
// single place, otherwise three lines, as in
//
//	[root_cache:3] Error Parsing ASCII PMNS: Expected NAME or }
//	    b.c 1:2:3
//	    ^
type ParseError struct {
	// File and Line name the place as the author knows it: an included file
	// by its own name, and generated text by its linemarkers. Line is 0 for a
	// fault of the tree as a whole (a missing or disconnected node, a PMID
	// with two names); File is then the main file, and not in the report.
	File string
	Line int
	// Text is the offending line. From the parser it comes without leading
	// white space, runs of white space shortened to their first character and
	// none around colons; from the preprocessor as written.
	Text string
	// Column is the byte of Text, from 1, at which the offending word begins;
	// 0 if the fault is the whole line's.
	Column int
	// Msg is the fault alone.
	Msg string
}

// Error is the report of the C library, without a newline at its end.
func (e *ParseError) Error() string {
	const title = "Error Parsing ASCII PMNS: "
	if e.Line <= 0 {
		return title + e.Msg
	}
	var b strings.Builder
	b.WriteString("[" + e.File + ":" + strconv.Itoa(e.Line) + "] " + title + e.Msg)
	if e.Text != "" {
		b.WriteString("\n    " + e.Text)
	}
	if e.Column > 0 {
		b.WriteString("\n    ")
		for i := range min(e.Column-1, len(e.Text)) {
			c := e.Text[i]
			if !isSpace(c) { // tabs stay, so that the caret lines up
				c = ' '
			}
			b.WriteByte(c)
		}
		b.WriteByte('^')
	}
	return b.String()
}

// Unwrap is pdu.ErrPMNS, PM_ERR_PMNS.
func (e *ParseError) Unwrap() error { return pdu.ErrPMNS }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
