package derived

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A SyntaxError says what is wrong with the text of an expression, in the words of the C library.
type SyntaxError struct {
	Offset  int    // of the token at which the parser gave up; of the last byte if that is the end, -1 without text
	Message string // empty if there is no more to be said than where
}

func (e *SyntaxError) Error() string {
	if e.Message == "" {
		return "syntax error"
	}
	return e.Message
}

// A token is a kind of words of an expression.
type token uint8

const (
	tokEnd token = iota
	tokInteger
	tokDouble
	tokName
	tokReserved // type, semantics, units
	tokString
	tokInstance // [text]
	tokPattern  // /text/
	tokPlus
	tokMinus
	tokStar
	tokSlash
	tokLParen
	tokRParen
	tokLess
	tokLessEqual
	tokEqual
	tokGreaterEqual
	tokGreater
	tokNotEqual
	tokAnd
	tokOr
	tokNot
	tokQuest
	tokColon
	tokComma
	tokAssign
	tokFunction // its name and the parenthesis
)

// opNames are what messages call operators, and how they are written.
var opNames = [tokFunction + 1]struct{ name, text string }{
	tokPlus: {"PLUS", "+"}, tokMinus: {"MINUS", "-"}, tokStar: {"STAR", "*"}, tokSlash: {"SLASH", "/"},
	tokLess: {"LT", "<"}, tokLessEqual: {"LEQ", "<="}, tokEqual: {"EQ", "=="}, tokGreaterEqual: {"GEQ", ">="},
	tokGreater: {"GT", ">"}, tokNotEqual: {"NEQ", "!="}, tokAnd: {"AND", "&&"}, tokOr: {"OR", "||"},
	tokNot: {"NOT", "!"}, tokQuest: {"QUEST", "?"}, tokColon: {"COLON", ":"}, tokLParen: {"", "("}, tokRParen: {"", ")"},
}

// A function is one of those that are written like a call.
type function uint8

const (
	noFunction function = iota
	fnAvg
	fnCount
	fnMax
	fnMin
	fnSum
	fnDelta
	fnRate
	fnInstant
	fnScalar
	fnRescale
	fnDefined
	fnMatchInst
	fnMkconst
	fnAnon
	fnNovalue // only where it may be: elsewhere it is a name, as in PCP 6
)

// functionCalls are the names of functions, with the parenthesis that belongs to their tokens.
var functionCalls = [...]string{
	fnAvg: "avg(", fnCount: "count(", fnMax: "max(", fnMin: "min(", fnSum: "sum(", fnDelta: "delta(", fnRate: "rate(",
	fnInstant: "instant(", fnScalar: "scalar(", fnRescale: "rescale(", fnDefined: "defined(", fnMatchInst: "matchinst(",
	fnMkconst: "mkconst(", fnAnon: "anon(", fnNovalue: "novalue(",
}

func functionOf(call string) function {
	for f := fnAvg; f < fnNovalue; f++ {
		if functionCalls[f] == call {
			return f
		}
	}
	return noFunction
}

// maxInteger is the greatest integer constant.
const maxInteger = 1<<32 - 1

// A lexer splits the text of an expression into tokens.
type lexer struct {
	text    string
	next    int  // where the next token is looked for
	pattern bool // a slash begins a pattern

	// The present token.
	tok   token
	start int
	word  string // a name, or what is between delimiters, or a number
	fn    function
	value float64
}

// advance reads the next token.
func (l *lexer) advance() error {
	l.skipBlanks()
	l.start, l.word, l.fn = l.next, "", noFunction
	if l.next == len(l.text) {
		l.tok, l.start = tokEnd, len(l.text)-1
		return nil
	}
	switch c := l.text[l.next]; {
	case scan.IsLetter(c):
		l.name()
		return nil
	case scan.IsDigit(c) || c == '.':
		return l.number()
	case c == '"':
		return l.delimited(tokString, '"', false, "unterminated STRING")
	case c == '[':
		return l.delimited(tokInstance, ']', true, "unterminated instance name")
	case c == '/' && l.pattern:
		return l.delimited(tokPattern, '/', true, "unterminated pattern")
	}
	return l.operator()
}

func (l *lexer) skipBlanks() {
	for l.next < len(l.text) && (isBlank(l.text[l.next]) || l.text[l.next] == '\n') {
		l.next++
	}
}

func (l *lexer) fail(message string) error { return &SyntaxError{l.start, message} }

// inName says which bytes go on with a name.
var inName = func() (in [256]bool) {
	for c := range in {
		in[c] = scan.IsLetter(byte(c)) || scan.IsDigit(byte(c)) || c == '_' || c == '.'
	}
	return in
}()

// name reads a name, or a function with its parenthesis.
func (l *lexer) name() {
	next := l.next
	for next < len(l.text) && inName[l.text[next]] {
		next++
	}
	l.next = next
	l.tok, l.word = tokName, l.text[l.start:next]
	if next < len(l.text) && l.text[next] == '(' {
		if l.fn = functionOf(l.text[l.start : l.next+1]); l.fn != noFunction {
			l.tok = tokFunction
			l.next++
		}
		return
	}
	switch l.word {
	case "type", "semantics", "units":
		l.tok = tokReserved
	}
}

// number reads an integer, or a number with one dot, which may have no digits on either side.
func (l *lexer) number() error {
	l.tok = tokInteger
	for l.next < len(l.text) {
		c := l.text[l.next]
		if c == '.' && l.tok == tokInteger {
			l.tok = tokDouble
		} else if !scan.IsDigit(c) {
			break
		}
		l.next++
	}
	l.word = l.text[l.start:l.next]
	if len(l.word) == 1 && l.tok == tokInteger {
		l.value = float64(l.word[0] - '0')
		return nil
	}
	l.value, _ = strconv.ParseFloat(l.word, 64) // "." is 0
	if l.tok == tokInteger && l.value > maxInteger {
		return l.fail("Constant value too large")
	}
	return nil
}

// delimited reads a token that ends with a byte. A backslash may take away the meaning of the byte
// after it.
func (l *lexer) delimited(t token, end byte, escapes bool, unterminated string) error {
	l.next++
	if n := strings.IndexByte(l.text[l.next:], end); n >= 0 {
		if word := l.text[l.next:][:n]; !escapes || strings.IndexByte(word, '\\') < 0 {
			l.tok, l.word = t, word
			l.next += n + 1
			return nil
		}
	}
	var b strings.Builder
	for ; ; l.next++ {
		switch {
		case l.next >= len(l.text):
			return l.fail(unterminated)
		case l.text[l.next] == end:
			l.tok, l.word = t, b.String()
			l.next++
			return nil
		case escapes && l.text[l.next] == '\\' && l.next+1 < len(l.text):
			l.next++
		}
		b.WriteByte(l.text[l.next])
	}
}

// The operators of one byte, and those that it makes with a second one.
var (
	oneByte = [256]token{
		'+': tokPlus, '-': tokMinus, '*': tokStar, '/': tokSlash, '(': tokLParen, ')': tokRParen, '<': tokLess, '>': tokGreater,
		'!': tokNot, '?': tokQuest, ':': tokColon, ',': tokComma, '=': tokAssign,
	}
	twoBytes = [256]struct {
		second byte
		tok    token
	}{'<': {'=', tokLessEqual}, '=': {'=', tokEqual}, '>': {'=', tokGreaterEqual}, '!': {'=', tokNotEqual}, '&': {'&', tokAnd}, '|': {'|', tokOr}}
)

// operator reads an operator.
func (l *lexer) operator() error {
	c := l.text[l.next]
	if two := &twoBytes[c]; two.tok != tokEnd && l.next+1 < len(l.text) && l.text[l.next+1] == two.second {
		l.tok = two.tok
		l.next += 2
		return nil
	}
	if oneByte[c] == tokEnd {
		return l.fail("Illegal character")
	}
	l.tok = oneByte[c]
	l.next++
	return nil
}
