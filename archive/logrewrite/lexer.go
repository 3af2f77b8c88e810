package logrewrite

import (
	"errors"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A kind is the kind of a token. For a one-character token it is the character.
type kind int

const (
	kEOF       kind = -1 - iota
	kArrow          // ->
	kNumber         // 29
	kFloat          // 29.2, 29.
	kPMID           // 29.0.6
	kPMIDStar       // 29.0.* and 29.*.*
	kInDomStar      // 29.*
	kName           // sample.bin
	kHost           // after HOSTNAME ->
	kString         // "one line", not empty
	kText           // "any \"text\""
	kJSON           // an empty string, a JSON number other than kNumber, true, false, null
	kKeyword        // text is in lower case
	kPattern        // /a.*b/
)

// A token is a word of a rule.
type token struct {
	kind kind
	text string // strings without quotes, kText without backslashes
	raw  string // as in the input
}

// is reports whether a token is a keyword.
func (t token) is(keyword string) bool { return t.kind == kKeyword && t.text == keyword }

// The keywords of each kind of rule.
var (
	ruleWords   = words("global", "indom", "metric", "text", "label")
	globalWords = words("hostname", "tz", "timezone", "zoneinfo", "features", "bits", "time")
	indomWords  = words("iname", "inst", "indom", "duplicate", "delete")
	metricWords = words("delete", "pmid", "name", "type", "if", "indom", "null", "output", "sem", "units", "rescale")
	textWords   = words("metric", "indom", "oneline", "help", "delete", "text")
	labelWords  = words("context", "domain", "cluster", "item", "indom", "instances", "instance", "delete", "new", "label", "value")
)

func words(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, w := range list {
		m[w] = true
	}
	return m
}

// A lexer splits rules into tokens.
type lexer struct {
	text  string
	at    int
	line  int
	words map[string]bool // the keywords
	stars bool            // a single star is a token
	json  bool            // JSON values are tokens
	host  bool            // the next token is a host name

	patterns bool // regular expressions are tokens
}

// next returns the next token. It fails if no token begins here.
func (l *lexer) next() (token, error) {
	l.skip()
	rest := l.text[l.at:]
	if rest == "" {
		return token{kind: kEOF}, nil
	}
	t, n := l.match(rest)
	if n == 0 {
		return token{}, errors.New("Unexpected character '" + rest[:1] + "'")
	}
	l.at += n
	t.raw = rest[:n] // newlines in it do not change l.line
	return t, nil
}

// skip skips blanks and comments.
func (l *lexer) skip() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case '\n':
			l.line++
			l.at++
		case ' ', '\t', '\r':
			l.at++
		case '#':
			end := strings.IndexByte(l.text[l.at:], '\n')
			if end < 0 {
				end = len(l.text) - l.at
			}
			l.at += end
		default:
			return
		}
	}
}

// match returns the longest token at the start of s and its length, which is 0 if no token matches.
func (l *lexer) match(s string) (token, int) {
	if l.host {
		if scan.IsAlnum(s[0]) {
			n := span(s, 0, isHost)
			if scan.IsLetter(s[0]) {
				n = max(n, nameLen(s))
			}
			return token{kind: kHost, text: s[:n]}, n
		}
	}
	switch c := s[0]; {
	case c == '/' && l.patterns:
		n := 1 + span(s, 1, func(c byte) bool { return c != '/' && c != '\n' })
		if n < len(s) && s[n] == '/' {
			return token{kind: kPattern, text: s[1:n]}, n + 1
		}
	case strings.HasPrefix(s, "->"):
		return token{kind: kArrow}, 2
	case c == '"':
		return l.quoted(s)
	case scan.IsDigit(c), c == '-' && l.json:
		return l.number(s)
	case scan.IsLetter(c):
		n := nameLen(s)
		if w := strings.ToLower(s[:n]); l.words[w] {
			return token{kind: kKeyword, text: w}, n
		} else if l.json && (w == "true" || w == "false" || w == "null") {
			return token{kind: kJSON, text: s[:n]}, n
		}
		return token{kind: kName, text: s[:n]}, n
	case strings.IndexByte("{},:()+-", c) >= 0, c == '*' && l.stars:
		return token{kind: kind(c)}, 1
	}
	return token{}, 0
}

// quoted returns the string at the start of s and its length.
func (l *lexer) quoted(s string) (token, int) {
	simple := 1 + span(s, 1, func(c byte) bool { return c != '"' && c != '\n' })
	short := 0
	if simple > 1 && simple < len(s) && s[simple] == '"' {
		short = simple + 1
	}
	long := 0
	for i := 1; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == '"' {
			long = i + 1
			break
		}
	}
	if long > short {
		if l.json && long == 2 {
			return token{kind: kJSON}, long
		}
		return token{kind: kText, text: scan.Unescape(s[1 : long-1])}, long
	}
	if short == 0 {
		return token{}, 0
	}
	return token{kind: kString, text: s[1 : short-1]}, short
}

// number returns the number token at the start of s. In JSON it may begin with a minus.
func (l *lexer) number(s string) (token, int) {
	n := 0
	json := 0
	if l.json {
		json = jsonNumber(s)
	}
	t := token{kind: kJSON}
	if s[0] == '-' {
		if json == 0 {
			return token{kind: '-'}, 1
		}
	} else {
		t.kind, n = l.dotted(s)
	}
	if json > n {
		t.kind, n = kJSON, json
	}
	t.text = s[:n]
	return t, n
}

// dotted returns the kind and length of a number, or of several joined by dots.
func (l *lexer) dotted(s string) (kind, int) {
	one := span(s, 0, scan.IsDigit)
	if one == len(s) || s[one] != '.' {
		return kNumber, one
	}
	rest := s[one+1:]
	if strings.HasPrefix(rest, "*.*") {
		return kPMIDStar, one + 4
	}
	if strings.HasPrefix(rest, "*") {
		return kInDomStar, one + 2
	}
	two := one + 1 + span(rest, 0, scan.IsDigit)
	if two > one+1 && two < len(s) && s[two] == '.' {
		if n := span(s, two+1, scan.IsDigit); n > 0 {
			return kPMID, two + 1 + n
		}
		if strings.HasPrefix(s[two+1:], "*") {
			return kPMIDStar, two + 2
		}
	}
	return kFloat, two
}

// jsonNumber returns the length of the JSON number at the start of s.
func jsonNumber(s string) int {
	n := 0
	if strings.HasPrefix(s, "-") {
		n = 1
	}
	digits := span(s, n, scan.IsDigit)
	if digits == 0 {
		return 0
	}
	n += digits
	if n < len(s) && s[n] == '.' {
		if digits := span(s, n+1, scan.IsDigit); digits > 0 {
			n += 1 + digits
		}
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		e := n + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if digits := span(s, e, scan.IsDigit); digits > 0 {
			n = e + digits
		}
	}
	return n
}

// nameLen returns the length of the metric name at the start of s. A single = or - may precede each
// character but the first.
func nameLen(s string) int {
	n := 1
	for n < len(s) {
		switch {
		case isName(s[n]):
			n++
		case (s[n] == '=' || s[n] == '-') && n+1 < len(s) && isName(s[n+1]):
			n += 2
		default:
			return n
		}
	}
	return n
}

// span returns the number of consecutive characters of a class in s, starting at offset from.
func span(s string, from int, class func(byte) bool) int {
	n := from
	for n < len(s) && class(s[n]) {
		n++
	}
	return n - from
}

func isName(c byte) bool { return scan.IsAlnum(c) || c == '_' || c == '.' }
func isHost(c byte) bool { return scan.IsAlnum(c) || c == '.' || c == '-' }
