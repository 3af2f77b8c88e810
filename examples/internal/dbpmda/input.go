package dbpmda

import (
	"bufio"
	"io"
	"strings"
)

// A source is a source of commands.
type source struct {
	file   string // its name in messages; empty for the standard input
	prompt string // what a line is asked for with
	silent bool   // do not print the prompt
	echo   bool   // print what is read

	r       *bufio.Reader
	started bool
}

// An input reads its sources one after the other, byte by byte. It reads no further than a command,
// so that the output of the command follows its text.
type input struct {
	out     *lineWriter
	echoed  io.Writer // what is echoed, as it is
	sources []*source // the first is read now; none at the end
	line    int       // of the first source, from 1
	back    []byte    // bytes that were read too early; the last is the next
	newline bool      // the last byte that was read ended a line
	indent  []byte    // what is as wide as the bytes read of this line: blanks and tabs
	width   int       // of the prompt of this line
}

// add appends a source, which is read after the earlier ones.
func (in *input) add(r io.Reader, s source) {
	s.r = bufio.NewReader(r)
	in.sources = append(in.sources, &s)
	in.newline = true
}

// next returns the next byte. ok is false at the end.
func (in *input) next() (c byte, ok bool) {
	if n := len(in.back); n > 0 {
		c, in.back = in.back[n-1], in.back[:n-1]
		return c, true
	}
	return in.read()
}

// unread makes next return bytes again.
func (in *input) unread(b []byte) {
	for i := len(b) - 1; i >= 0; i-- {
		in.back = append(in.back, b[i])
	}
}

// read returns the next byte that was not returned before.
func (in *input) read() (c byte, ok bool) {
	for len(in.sources) > 0 {
		s := in.sources[0]
		if in.newline || !s.started {
			in.startLine(s)
		}
		in.out.Flush()
		c, err := s.r.ReadByte()
		if c == '\r' {
			continue
		}
		if err == nil {
			in.note(s, c)
			return c, true
		}
		in.sources, in.line = in.sources[1:], 0
	}
	return 0, false
}

// startLine prompts for a line.
func (in *input) startLine(s *source) {
	s.started = true
	in.line++
	if in.newline {
		in.indent = in.indent[:0]
	}
	in.newline = false
	in.width = len(s.prompt)
	if !s.silent {
		io.WriteString(in.out, s.prompt)
	}
}

// note records and echoes a byte.
func (in *input) note(s *source, c byte) {
	if s.echo {
		in.out.Flush()
		in.echoed.Write([]byte{c})
	}
	switch in.newline = c == '\n'; {
	case c == '\n':
	case c == '\t':
		in.indent = append(in.indent, c)
	default:
		in.indent = append(in.indent, ' ')
	}
}

// skipLine reads up to the end of the line, and reports whether the input ends before it.
func (in *input) skipLine() (ended bool) {
	for !in.newline && !in.atEnd() {
		if _, ok := in.read(); !ok {
			return true
		}
	}
	return false
}

// atEnd reports whether the end has been read.
func (in *input) atEnd() bool { return len(in.sources) == 0 }

// caret returns a line with a mark below the last byte that was read.
func (in *input) caret(indent int) string {
	return strings.Repeat(" ", max(in.width-1, 0)) + string(in.indent[:indent]) + "^ at or near here\n"
}
