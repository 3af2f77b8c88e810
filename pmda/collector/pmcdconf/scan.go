package pmcdconf

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// maxLine is pmcd's limit for the length of a line and its continuation lines, without the newline.
const maxLine = 2198

type tokenKind int

const (
	tokenWord tokenKind = iota
	tokenMark           // one of , : ; [ ] in an access section
	tokenEnd            // of the line, or in an access section of the file
)

// A token is a word of a configuration file, without quotes and escapes.
type token struct {
	kind tokenKind
	text string
	pos  int // its start in the line
	line int
}

// is reports whether the token is a reserved word, in upper or lower case and even in
// quotes, or a mark.
func (t token) is(word string) bool {
	if t.kind == tokenMark || len(word) == 1 && strings.Contains(",:;[]", word) {
		return t.kind == tokenMark && t.text == word
	}
	return t.kind == tokenWord && strings.EqualFold(t.text, word)
}

// A scanner splits a configuration file into tokens. Among the lines of agents the caller reads
// each line with nextLine and its words with next. In an access section next also reads the lines.
//
//	# to the end of the line    a comment, if not in quotes
//	\# \"                       # and ", in and outside of quotes
//	\ at the end of a line      a blank: the next line continues this one
//	"…"                         one word, if the quote starts it
type scanner struct {
	r      *bufio.Reader
	access bool
	text   string // a line with its continuation lines
	pos    int
	line   int    // its number; at the end of the file, that of the next line
	read   int    // lines read
	err    string // the fault that stopped the scanner, or empty
}

func (s *scanner) open(r io.Reader) { s.r = bufio.NewReader(r) }

// nextLine reads a line with its continuation lines.
func (s *scanner) nextLine() bool {
	s.pos, s.text = 0, ""
	if s.err != "" {
		return false
	}
	s.line = s.read + 1
	var b []byte
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF:
			if len(b) > 0 {
				s.read = s.line - 1 // the end of the file is on this line
			}
			s.text = string(b)
			return len(b) > 0
		case err != nil:
			s.err = fmt.Sprintf("read: %v", err)
			return false
		case c != '\n' && len(b) == maxLine:
			s.err = fmt.Sprintf("ridiculously long line (%d characters)", maxLine+2)
			return false
		case c != '\n':
			b = append(b, c)
			continue
		}
		s.read++
		if len(b) == 0 || b[len(b)-1] != '\\' {
			s.text = string(b)
			return true
		}
		b[len(b)-1] = ' '
	}
}

// next returns the next token. After a fault all tokens are tokenEnd.
func (s *scanner) next() token {
	for {
		for s.pos < len(s.text) && scan.IsSpace(s.text[s.pos]) {
			s.pos++
		}
		if s.pos < len(s.text) && s.text[s.pos] != '#' {
			break
		}
		s.pos = len(s.text)
		if !s.access || !s.nextLine() {
			return token{kind: tokenEnd, line: s.line}
		}
	}
	t := token{pos: s.pos, line: s.line}
	switch c := s.text[s.pos]; {
	case s.access && isMark(c):
		t.kind, t.text = tokenMark, string(rune(c))
		s.pos++
	case c == '"':
		s.pos++
		t.text = s.word(func(c byte) bool { return c == '"' })
		if s.pos == len(s.text) {
			s.err = "unterminated quoted string"
			return token{kind: tokenEnd, line: s.line}
		}
		s.pos++
	default:
		t.text = s.word(func(c byte) bool { return scan.IsSpace(c) || c == '#' || s.access && isMark(c) })
	}
	return t
}

// word reads up to an unescaped byte that ends the word.
func (s *scanner) word(ends func(byte) bool) string {
	var b strings.Builder
	for ; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos]
		if c == '\\' && s.pos+1 < len(s.text) && (s.text[s.pos+1] == '#' || s.text[s.pos+1] == '"') {
			s.pos++
			c = s.text[s.pos]
		} else if ends(c) {
			break
		}
		b.WriteByte(c)
	}
	return b.String()
}

// quoteWord quotes and escapes a word so that the scanner reads it unchanged.
func quoteWord(w string) string {
	quoted := strings.NewReplacer(`"`, `\"`, `#`, `\#`).Replace(w)
	if w == "" || strings.ContainsFunc(w, func(r rune) bool { return r < 0x80 && scan.IsSpace(byte(r)) }) {
		quoted = `"` + quoted + `"`
	}
	return quoted
}

func isMark(c byte) bool {
	switch c {
	case ',', ':', ';', '[', ']':
		return true
	}
	return false
}
