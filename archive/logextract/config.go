package logextract

import (
	"fmt"
	"io"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// maxConfig is the maximum size of a configuration in bytes.
const maxConfig = 16 << 20

// A SyntaxError is an error in a configuration.
type SyntaxError struct {
	Line int
	Text string
}

// Error returns the text of the error with its line number.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// ParseConfig reads a configuration of pmlogextract(1): names of metrics, or of nodes of the name
// space above them, separated by blanks, newlines or commas. Instances may follow a name in
// brackets:
//
//	disk.dev.read ["sda" "sdb"]   # by name
//	sample.bin [100, 200], proc   # by number
//
// If a metric is listed twice, the first entry counts. With a *SyntaxError, ParseConfig also
// returns the metrics before it. Other errors are those of r, and an error for more than 16 MiB.
func ParseConfig(r io.Reader) ([]Metric, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("configuration of more than %d bytes", maxConfig)
	}
	p := &parser{text: text, line: 1}
	var metrics []Metric
	t, err := p.next()
	for err == nil && t.kind != atEnd {
		if len(metrics) > 0 && t.kind == ',' {
			if t, err = p.next(); err != nil {
				break
			}
		}
		if t.kind != name {
			err = p.syntaxError()
			break
		}
		m := Metric{Name: t.text}
		if t, err = p.next(); err != nil {
			break
		}
		m.Line = p.line
		if t.kind == '[' {
			if m.Instances, err = p.instances(); err != nil {
				break
			}
			m.Line = p.line
			metrics = append(metrics, m)
			t, err = p.next()
			continue
		}
		metrics = append(metrics, m)
	}
	return metrics, err
}

// instances parses the instances after an opening bracket.
func (p *parser) instances() (list []Instance, err error) {
	for {
		t, err := p.next()
		if err == nil && len(list) > 0 {
			switch t.kind {
			case ']':
				return list, nil
			case ',':
				t, err = p.next()
			}
		}
		if err != nil {
			return nil, err
		}
		switch t.kind {
		case name, quoted:
			list = append(list, Instance{Name: t.text})
		case number:
			n, _, _ := scan.Int(t.text)
			list = append(list, Instance{ID: pdu.InstID(int32(n))}) // truncated, as by atoi(3)
		default:
			return nil, p.syntaxError()
		}
	}
}

// A kind is the kind of a token: one of these constants, or the character of a one-character token.
type kind int

const (
	atEnd kind = -1 - iota
	name
	number
	quoted
)

type token struct {
	kind kind
	text string
}

// A parser splits a configuration into tokens.
type parser struct {
	text []byte
	line int
}

func (p *parser) syntaxError() error { return &SyntaxError{p.line, "syntax error"} }

// next returns the next token.
func (p *parser) next() (token, error) {
	p.skip()
	if len(p.text) == 0 {
		return token{kind: atEnd}, nil
	}
	switch c := p.text[0]; {
	case scan.IsLetter(c):
		return p.take(name, func(c byte) bool { return scan.IsLetter(c) || scan.IsDigit(c) || c == '_' || c == '.' }), nil
	case scan.IsDigit(c):
		return p.take(number, scan.IsDigit), nil
	case c == '[', c == ']', c == ',':
		p.text = p.text[1:]
		return token{kind: kind(c)}, nil
	case c == '"', c == '\'':
		for i := 1; i < len(p.text) && p.text[i] != '\n'; i++ {
			if p.text[i] == c && i > 1 {
				t := token{quoted, string(p.text[1:i])}
				p.text = p.text[i+1:]
				return t, nil
			} else if p.text[i] == c {
				break
			}
		}
	}
	return token{}, &SyntaxError{p.line, "Unexpected character '" + string(p.text[:1]) + "'"}
}

// skip skips blanks and comments.
func (p *parser) skip() {
	comment := false
	for len(p.text) > 0 {
		switch c := p.text[0]; {
		case c == '\n':
			p.line++
			comment = false
		case comment, c == ' ', c == '\t', c == '\r':
		case c == '#':
			comment = true
		default:
			return
		}
		p.text = p.text[1:]
	}
}

// take returns a token of the first character and those after it that in accepts.
func (p *parser) take(k kind, in func(byte) bool) token {
	n := 1
	for n < len(p.text) && in(p.text[n]) {
		n++
	}
	t := token{k, string(p.text[:n])}
	p.text = p.text[n:]
	return t
}
