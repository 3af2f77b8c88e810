package pmlcshell

import (
	"bufio"
	"io"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A token is a word of a command.
type token struct {
	kind tokenKind
	text string // without quotes
	num  int32  // of a tokenNumber
}

type tokenKind uint8

const (
	tokenEOF    tokenKind = iota
	tokenEOL              // the end of a command
	tokenWord             // a keyword, a name, or, with "-" in it, a host
	tokenNumber           // decimal
	tokenString           // in double quotes
	tokenURL              // of a unix socket: unix:PATH or local:PATH
	tokenPunct            // one of @ { } [ ] , ?
)

// is reports whether a token is a keyword or a punctuation character.
func (t token) is(text string) bool {
	return (t.kind == tokenWord || t.kind == tokenPunct) && t.text == text
}

// isName reports whether a word can be the name of a metric or an instance. A word with "-" can
// only be that of a host.
func (t token) isName() bool { return t.kind == tokenWord && !strings.Contains(t.text, "-") }

// A lexer splits the input into tokens like the scanner of pmlc(1). It reads ahead to find the end
// of a token. The echo of the input, the places of errors and the skipped input depend on that.
type lexer struct {
	in         *bufio.Reader
	echo       io.Writer    // nil for none
	prompt     func()       // called before a line is read
	unexpected func(c byte) // called for a character that begins no token
	ahead      []byte       // read, but not part of a token yet
	last       byte         // the character that was read last
	atEOF      bool
	begun      bool // a character of this line has been read
	line       int
	braces     bool // between { and }, where newlines are blanks
	refused    bool // a character of this command begins no token: keywords are no names any more
}

// read reads a character of the input.
func (l *lexer) read() (byte, bool) {
	if l.atEOF {
		return 0, false
	}
	if !l.begun {
		l.prompt()
	}
	c, err := l.in.ReadByte()
	if err != nil {
		l.atEOF = true
		return 0, false
	}
	l.begun = c != '\n'
	l.last = c
	if l.echo != nil {
		l.echo.Write([]byte{c})
	}
	return c, true
}

// at returns the character after n others that are not yet part of a token. ok is false at the end
// of the input.
func (l *lexer) at(n int) (c byte, ok bool) {
	for len(l.ahead) <= n {
		c, ok := l.read()
		if !ok {
			return 0, false
		}
		l.ahead = append(l.ahead, c)
	}
	return l.ahead[n], true
}

// span returns the number of characters from n on that fulfil a condition.
func (l *lexer) span(n int, f func(c byte) bool) int {
	for {
		c, ok := l.at(n)
		if !ok || !f(c) {
			return n
		}
		n++
	}
}

// takeText removes the next n characters and returns them.
func (l *lexer) takeText(n int) string {
	s := string(l.ahead[:n])
	l.ahead = append(l.ahead[:0], l.ahead[n:]...)
	return s
}

func isWord(c byte) bool {
	return scan.IsLetter(c) || scan.IsDigit(c) || c == '_' || c == '.' || c == '-'
}
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// next reads a token.
func (l *lexer) next() token {
	for {
		c, ok := l.at(0)
		switch {
		case !ok:
			return token{kind: tokenEOF}
		case isBlank(c):
			l.takeText(l.span(0, isBlank))
		case c == '#':
			l.takeText(l.span(0, func(c byte) bool { return c != '\n' }))
		case c == '\n':
			l.takeText(1)
			l.line++
			if !l.braces {
				return token{kind: tokenEOL}
			}
		case scan.IsLetter(c):
			return l.word()
		case scan.IsDigit(c):
			return number(l.takeText(l.span(0, scan.IsDigit)))
		case c == '"':
			n := l.span(1, func(c byte) bool { return c != '"' && c != '\n' })
			if end, ok := l.at(n); ok && end == '"' && n > 1 {
				s := l.takeText(n + 1)
				return token{kind: tokenString, text: s[1:n]}
			}
			l.refuse()
		case strings.IndexByte("@{}[],?", c) >= 0:
			if c == '}' {
				l.braces = false
			}
			return token{kind: tokenPunct, text: l.takeText(1)}
		default:
			l.refuse()
		}
	}
}

// word reads a word, or a URL.
func (l *lexer) word() token {
	n := l.span(0, isWord)
	if word := string(l.ahead[:n]); word == "unix" || word == "local" {
		if c, ok := l.at(n); ok && c == ':' {
			n = l.span(n+1, func(c byte) bool { return !isBlank(c) && c != '\n' })
			return token{kind: tokenURL, text: l.takeText(n)}
		}
	}
	return token{kind: tokenWord, text: l.takeText(n)}
}

// number returns a token of digits. As with strtol(3), a number that does not fit in 64 bits
// becomes the maximum, whose low half is -1.
func number(digits string) token {
	n, _, _ := scan.Int(digits)
	return token{kind: tokenNumber, text: digits, num: int32(n)}
}

// refuse reports a character that begins no token. It skips the rest of the line unless that was
// already read.
func (l *lexer) refuse() {
	l.unexpected(l.takeText(1)[0])
	l.refused = true
	l.skipLine()
}

// skipLine skips to the end of the line, or in braces to a closing brace before it. It does not
// skip characters that were read ahead.
func (l *lexer) skipLine() {
	for l.braces && l.last != '}' {
		if c, ok := l.read(); !ok {
			break
		} else if c == '\n' {
			l.line++
		}
	}
	l.braces = false
	for l.last != '\n' {
		c, ok := l.read()
		if !ok {
			return
		}
		if c == '\n' {
			l.line++
		}
	}
}
