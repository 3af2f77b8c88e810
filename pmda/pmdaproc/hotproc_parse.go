package pmdaproc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/pattern"
	"github.com/pcp-go/pcp/internal/scan"
)

// Limits of the text of a condition.
const (
	maxCondition = 64 << 10 // bytes
	maxDepth     = 200      // nested parentheses and negations
)

// parseCondition parses the text of a condition, which may follow the words "Version 1.0". It
// returns nil for a text without a condition.
func parseCondition(text string) (condition, error) {
	if len(text) > maxCondition {
		return nil, fmt.Errorf("the condition has more than %d bytes", maxCondition)
	}
	tokens, err := scanCondition(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	if p.accept("Version") {
		if v, err := strconv.ParseFloat(p.next().text, 64); err != nil || v != 1 {
			return nil, errors.New("the version is not 1.0")
		}
	}
	if p.peek().kind == tokenEnd {
		return nil, nil
	}
	c, err := p.disjunction(0)
	if err == nil && p.peek().kind != tokenEnd {
		err = fmt.Errorf("%q after the condition", p.peek().text)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Kinds of tokens.
const (
	tokenEnd = iota
	tokenWord
	tokenOperator
	tokenNumber
	tokenText
	tokenPattern
)

type token struct {
	kind int
	text string
}

var operators = []string{"&&", "||", "<=", ">=", "==", "!=", "!~", "<", ">", "!", "~", "(", ")"}

// scanCondition splits a text into tokens.
func scanCondition(text string) (tokens []token, err error) {
	for text != "" {
		c := text[0]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			text = text[1:]
		case c == '#':
			_, text, _ = strings.Cut(text, "\n")
		case c == '"' || c == '/':
			end := strings.IndexAny(text[1:], string(c)+"\n")
			if end < 0 || text[1+end] != c {
				return nil, fmt.Errorf("unterminated %c", c)
			}
			kind := tokenText
			if c == '/' {
				kind = tokenPattern
			}
			tokens, text = append(tokens, token{kind, text[1 : 1+end]}), text[end+2:]
		default:
			t, err := scanToken(text)
			if err != nil {
				return nil, err
			}
			tokens, text = append(tokens, t), text[len(t.text):]
		}
	}
	return tokens, nil
}

// scanToken returns the token at the start of a text.
func scanToken(text string) (token, error) {
	if i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(text, op) }); i >= 0 {
		return token{tokenOperator, operators[i]}, nil
	}
	isWord := func(c rune) bool { return c < 0x80 && scan.IsAlnum(byte(c)) || c == '.' || c == '_' }
	word := text[:len(text)-len(strings.TrimLeftFunc(text, isWord))]
	switch {
	case word == "":
		return token{}, fmt.Errorf("unexpected character %q", text[:1])
	case word[0] != '.' && !scan.IsDigit(word[0]):
		return token{tokenWord, word}, nil
	case strings.Trim(word, "0123456789.") != "" || strings.Count(word, ".") > 1 || word == ".":
		return token{}, fmt.Errorf("invalid number %q", word)
	}
	return token{tokenNumber, word}, nil
}

type parser struct{ tokens []token }

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return token{}
	}
	return p.tokens[0]
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept skips a word or an operator if it comes next, and reports whether it did.
func (p *parser) accept(text string) bool {
	t := p.peek()
	if t.text != text || t.kind != tokenWord && t.kind != tokenOperator {
		return false
	}
	p.next()
	return true
}

func (p *parser) disjunction(depth int) (condition, error) {
	a, err := p.conjunction(depth)
	for err == nil && p.accept("||") {
		var b condition
		b, err = p.conjunction(depth)
		a = connective{a, b, false}
	}
	return a, err
}

func (p *parser) conjunction(depth int) (condition, error) {
	a, err := p.term(depth)
	for err == nil && p.accept("&&") {
		var b condition
		b, err = p.term(depth)
		a = connective{a, b, true}
	}
	return a, err
}

func (p *parser) term(depth int) (condition, error) {
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("more than %d nested parentheses or negations", maxDepth)
	case p.accept("!"):
		c, err := p.term(depth + 1)
		return negation{c}, err
	case p.accept("("):
		c, err := p.disjunction(depth + 1)
		if err == nil && !p.accept(")") {
			err = errors.New("unclosed parenthesis")
		}
		return c, err
	case p.accept("true"):
		return always(true), nil
	case p.accept("false"):
		return always(false), nil
	}
	return p.comparison()
}

// comparison parses two operands and the operator between them.
func (p *parser) comparison() (condition, error) {
	left, op := p.next(), p.next()
	if op.kind != tokenOperator {
		return nil, fmt.Errorf("expected an operator after %q, found %q", left.text, op.text)
	}
	right := p.next()
	if a, ok := numberOperandOf(left); ok {
		b, ok := numberOperandOf(right)
		if !ok || !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, op.text) {
			return nil, fmt.Errorf("%s %s %q does not compare numbers", a, op.text, right.text)
		}
		return numberComparison{a, b, op.text}, nil
	}
	a, ok := textOperandOf(left)
	if !ok {
		return nil, fmt.Errorf("expected a variable or a value, found %q", left.text)
	}
	if op.text == "~" || op.text == "!~" {
		if right.kind != tokenPattern {
			return nil, fmt.Errorf("expected a pattern between slashes after %s, found %q", op.text, right.text)
		}
		pattern, err := compilePattern(right.text)
		return patternMatch{a, right.text, pattern, op.text == "!~"}, err
	}
	b, ok := textOperandOf(right)
	if !ok || op.text != "==" && op.text != "!=" {
		return nil, fmt.Errorf("%s %s %q does not compare texts", a, op.text, right.text)
	}
	return textComparison{a, b, op.text}, nil
}

func numberOperandOf(t token) (numberOperand, bool) {
	if t.kind == tokenNumber {
		v, err := strconv.ParseFloat(t.text, 64)
		return numberOperand{-1, v}, err == nil
	}
	i := slices.Index(numberNames[:], t.text)
	return numberOperand{variable: i}, t.kind == tokenWord && i >= 0
}

func textOperandOf(t token) (textOperand, bool) {
	if t.kind == tokenText {
		return textOperand{-1, t.text}, true
	}
	i := slices.Index(textNames[:], t.text)
	return textOperand{variable: i}, t.kind == tokenWord && i >= 0
}

// compilePattern compiles a pattern in the syntax of Emacs, as re_comp(3) does: groups and
// alternatives are written with backslashes.
func compilePattern(source string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("(?s)")
	start := true // of an alternative, where ^ is an anchor and a star is literal
	for i := 0; i < len(source); i++ {
		c := source[i]
		wasStart := start
		start = false
		switch {
		case c == '\\' && i+1 < len(source):
			i++
			c = source[i]
			if c >= '1' && c <= '9' {
				return nil, errors.New("patterns cannot have back-references")
			}
			start = c == '(' || c == '|'
			b.WriteString(escapedPattern(c))
		case c == '[':
			n := bracketLength(source[i:])
			if n == 0 {
				return nil, errors.New("unclosed bracket in the pattern")
			}
			b.WriteByte('[')
			b.WriteString(escapedSet.Replace(source[i+1 : i+n]))
			i += n - 1
		case c == '^' && wasStart:
			start = true
			b.WriteByte(c)
		case c == '$' && atEnd(source[i+1:]):
			b.WriteByte(c)
		case strings.IndexByte("(){}|^$", c) >= 0, wasStart && strings.IndexByte("*+?", c) >= 0:
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return pattern.Compile(b.String())
}

// atEnd reports whether a pattern or an alternative ends before rest, so that a $ is an anchor.
func atEnd(rest string) bool {
	return rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`)
}

// escapedPattern returns the meaning of a character after a backslash.
func escapedPattern(c byte) string {
	switch c {
	case '(', ')', '|':
		return string(c)
	case 'w', 'W', 'b', 'B':
		return `\` + string(c)
	case '<', '>':
		return `\b`
	case '`':
		return `\A`
	case '\'':
		return `\z`
	}
	if c >= 0x80 { // the beginning of a character that is not ASCII
		return string([]byte{c})
	}
	return regexp.QuoteMeta(string(c))
}

// escapedSet escapes the characters of a set that have a meaning only in Go's sets.
var escapedSet = strings.NewReplacer(`\`, `\\`, "[", `\[`)

// bracketLength returns the length in bytes of the bracket expression at the start of s, 0 if it
// has no end. A "]" directly after the "[" or "[^" is a member of the set.
func bracketLength(s string) int {
	from := 1
	if strings.HasPrefix(s[from:], "^") {
		from++
	}
	if strings.HasPrefix(s[from:], "]") {
		from++
	}
	end := strings.IndexByte(s[from:], ']')
	if end < 0 {
		return 0
	}
	return from + end + 1
}
