package logconf

import (
	"errors"
	"io"
	"regexp"

	"github.com/pcp-go/pcp/internal/pmcpp"
	"github.com/pcp-go/pcp/internal/scan"
)

// A kind is the kind of a token. That of a single character is the character.
type kind rune

const (
	end  kind = -1 - iota
	name      // of a metric or an instance, or a word of the language
	host      // what may only be a host
	number
	quoted // a text in quotes, without them
)

// A token is a word of a configuration.
type token struct {
	kind   kind
	text   string
	at     Place
	column int // in bytes from 1, 0 at the end of the file
}

// is reports whether it is a word of the language.
func (t token) is(word string) bool { return t.kind == name && t.text == word }

// patterns are the tokens of more than one character. Of those that match, the longest counts.
var patterns = func() (list []pattern) {
	const (
		hex  = `[0-9A-Fa-f]+`
		hexs = hex + `(:` + hex + `)*`
	)
	for _, p := range []struct {
		kind kind
		expr string
	}{
		{name, `[A-Za-z][A-Za-z0-9_.]*`},
		{number, `[0-9]+`},
		{quoted, `"[^"\n]+"`},
		{host, `[A-Za-z][A-Za-z0-9_.]*-[A-Za-z0-9_.-]*`},
		{host, `[0-9]+(\.[0-9]+){3}|([0-9]+\.){1,3}\*|\.\*`},
		{host, hex + `(:` + hex + `)+|(` + hexs + `)?::(` + hexs + `)?`},
		{host, `:\*|` + hexs + `:\*|(` + hexs + `)?::\*|(` + hexs + `)?::` + hexs + `:\*`},
		{host, `(local|unix):[A-Za-z0-9_./]*\*?`},
	} {
		re := regexp.MustCompile(`^(?:` + p.expr + `)`)
		re.Longest()
		list = append(list, pattern{p.kind, re})
	}
	return list
}()

type pattern struct {
	kind kind
	expr *regexp.Regexp
}

// A lexer makes tokens of a file.
type lexer struct {
	src    *pmcpp.Reader
	line   pmcpp.Line // what is left of the line
	length int        // of the whole line, with the white space before it
}

func newLexer(o Options, file string, r io.Reader) *lexer {
	c := pmcpp.Config{Open: o.Open, Shell: true, Restrict: true}
	return &lexer{src: c.NewReader(file, r)}
}

func (l *lexer) close() { l.src.Close() }

// next is the next token; at the end of the file one of kind end.
func (l *lexer) next() (token, error) {
	for {
		text := l.line.Text
		for text != "" && scan.IsSpace(text[0]) {
			text = text[1:]
		}
		if text != "" && text[0] != '#' {
			l.line.Text = text
			return l.scan()
		}
		line, err := l.src.Next()
		if err == io.EOF {
			l.line = l.src.End()
			return token{kind: end, at: l.place()}, nil
		} else if err != nil {
			return token{}, syntaxError(err)
		}
		l.line, l.length = line, line.Indent+len(line.Text)
	}
}

// scan takes a token off the line.
func (l *lexer) scan() (token, error) {
	t := token{kind: kind(l.line.Text[0]), text: l.line.Text[:1], at: l.place(), column: l.length - len(l.line.Text) + 1}
	longest := 0
	for _, p := range patterns {
		if n := len(p.expr.FindString(l.line.Text)); n > longest {
			longest = n
			t.kind, t.text = p.kind, l.line.Text[:n]
		}
	}
	if longest == 0 {
		switch t.kind {
		case '[', ']', '{', '}', ',', ':', ';', '*':
		default:
			return token{}, &SyntaxError{Place: t.at, Column: t.column, Found: t.text, Msg: "Unexpected character '" + t.text + "'"}
		}
	}
	l.line.Text = l.line.Text[len(t.text):]
	if t.kind == quoted {
		t.text = t.text[1 : len(t.text)-1]
	}
	return t, nil
}

func (l *lexer) place() Place { return Place{l.line.File, l.line.Number} }

// syntaxError is an error of the preprocessor as one of this package.
func syntaxError(err error) error {
	if wrong := (*pmcpp.Error)(nil); errors.As(err, &wrong) {
		return &SyntaxError{Place: Place{wrong.File, wrong.Number}, Msg: wrong.Msg}
	}
	return err
}
