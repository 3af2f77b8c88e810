package pmns

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/pmcpp"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// An OpError is the failure of an operation on a name space.
type OpError struct {
	Op   string // "add", "load", "read" or "write"
	Name string // the metric, or the file in "load" and "read"; may be empty
	Err  error  // the cause: an error of package pdu, or of reading or writing
}

// Error returns the operation, the name in quotes, and the cause.
func (e *OpError) Error() string {
	if e.Name == "" {
		return "pmns: " + e.Op + ": " + e.Err.Error()
	}
	return fmt.Sprintf("pmns: %s %q: %v", e.Op, e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// A ParseError is an error in a name space file, with its place. It unwraps to pdu.ErrPMNS.
//
// Its text is that of the C library or, for an error of the preprocessor, that of pmcpp(1). It has
// one line if the error has no single place, and otherwise three lines, as in
//
//	[root_cache:3] Error Parsing ASCII PMNS: Expected NAME or }
//	    b.c 1:2:3
//	    ^
type ParseError struct {
	// File and Line are the place of the error: in an included file by its own
	// name, in generated text by its line markers. Line is 0 for an error of the
	// tree as a whole (a missing or disconnected node, a PMID with two names); File
	// is then the main file, and Error leaves it out.
	File string
	Line int
	// Text is the line with the error. An error of the preprocessor has it as
	// written; an error of the parser without white space at its start and around
	// colons, and with other white space reduced to one character. For a
	// directory it is what pmcpp says, in lines before the others.
	Text string
	// Column is the position of the wrong word in Text, in bytes from 1. It is 0 if the whole line
	// is wrong.
	Column int
	// Msg describes the error, without the place.
	Msg string
	// Preprocessor means that the preprocessor found the error, pmcpp(1) in C.
	Preprocessor bool
}

// Error is the text of the C library, without a newline at its end.
func (e *ParseError) Error() string {
	const title = "Error Parsing ASCII PMNS: "
	switch {
	case e.Line > 0:
	case e.Text != "":
		return e.Text + "\n" + title + e.Msg
	default:
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
			if !scan.IsSpace(c) { // tabs stay, so that the caret lines up
				c = ' '
			}
			b.WriteByte(c)
		}
		b.WriteByte('^')
	}
	return b.String()
}

// Unwrap returns pdu.ErrPMNS, PM_ERR_PMNS.
func (e *ParseError) Unwrap() error { return pdu.ErrPMNS }

// preprocessError converts an error of package pmcpp to one of this package.
func preprocessError(err error) error {
	if wrong := (*pmcpp.Error)(nil); errors.As(err, &wrong) {
		return &ParseError{File: wrong.File, Line: wrong.Number, Text: wrong.Text, Msg: wrong.Msg, Preprocessor: wrong.Msg != pmcpp.BadLineMarker}
	}
	if read := (*pmcpp.ReadError)(nil); errors.As(err, &read) {
		return &OpError{Op: "read", Name: read.File, Err: fmt.Errorf("line %d: %w", read.Line, read.Err)}
	}
	return err
}
