package dbpmda

import (
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A kind is the kind of a word of a command.
type kind int

const (
	endOfInput kind = iota
	endOfLine
	keyword
	name     // of a metric, a file, an instance or a debug option
	minus    // -name
	number   // 12 or 0x12
	negative // -12
	pair     // 1.2
	triple   // 1.2.3
	text     // in quotes
	path
	symbol
	macro // $NAME, which is in no command

	// What follows is no token.
	blank
	unterminated
)

// A token is a word of a command.
type token struct {
	kind kind
	text string // of a text without the quotes
}

// is reports whether the token is a keyword.
func (t token) is(word string) bool { return t.kind == keyword && t.text == word }

var keywords = map[string]string{"attribute": "attr", "exit": "quit", "q": "quit", "?": "help"}

func init() {
	for w := range strings.FieldsSeq(`add all attr children close cluster context debug delete desc domain dso fetch getiname getdesc
		help indom inet instance instances ipv6 item label name namespace none off on open pipe pmid profile quit socket status
		store text timer traverse unix wait watch`) {
		keywords[w] = w
	}
}

// beforePath are the keywords that a path may follow.
var beforePath = map[string]bool{"dso": true, "pipe": true, "socket": true, "namespace": true, "watch": true}

// A scanner splits the input into tokens.
type scanner struct {
	in    *input
	paths bool // words may be paths: up to the first that is one, on whatever line
	// complain reports an error.
	complain func(message string)
}

// next returns the next token. It reads no byte beyond those that decide the token.
func (s *scanner) next() token {
	for {
		word, k, ok := s.match()
		switch {
		case !ok:
			return token{kind: endOfInput}
		case k == 0:
			s.complain("Illegal character")
		case k == unterminated:
			s.complain("Expected " + word[:1])
		case k == blank:
		default:
			return s.token(word, k)
		}
	}
}

// token returns the token of a word.
func (s *scanner) token(word string, k kind) token {
	switch k {
	case path:
		s.paths = false
	case text:
		return token{text, word[1 : len(word)-1]}
	case name, symbol:
		if to, ok := keywords[word]; ok {
			s.paths = s.paths || beforePath[to]
			return token{keyword, to}
		}
	}
	return token{k, word}
}

// maxWord is the maximum length of a word in bytes. Longer words are split.
const maxWord = 16 << 10

// match reads the longest valid word. k is 0 if no word starts with the next byte. Bytes after the
// word are read again.
func (s *scanner) match() (word string, k kind, ok bool) {
	var read []byte
	length := 0 // of the longest word so far
	comment := false
	for len(read) < maxWord || comment {
		c, more := s.in.next()
		if !more {
			if len(read) == 0 {
				return "", 0, false
			}
			break
		}
		read = append(read, c)
		if comment && c != '\n' {
			continue
		}
		found, open := classify(string(read), s.paths)
		comment = read[0] == '#' && found == 0
		if found != 0 {
			length, k = len(read), found
		}
		if !open {
			break
		}
	}
	if length == 0 {
		length = 1
	}
	s.in.unread(read[length:])
	return string(read[:length]), k, true
}

// classify returns the kind of a word, 0 for an invalid one. open reports whether a longer word may
// start with w.
func classify(w string, paths bool) (k kind, open bool) {
	k, open = classifyWord(w)
	if paths && !strings.ContainsAny(w, " \t\r\n") {
		if k == 0 {
			k = path
		}
		open = true
	}
	return k, open
}

func classifyWord(w string) (k kind, open bool) {
	switch c := w[0]; {
	case c == '\n':
		return endOfLine, false
	case strings.Trim(w, " \t\r") == "":
		return blank, true
	case c == '#':
		if strings.HasSuffix(w, "\n") {
			return endOfLine, false
		}
		return 0, true
	case c == '"' || c == '\'':
		return classifyText(w)
	case c == '=' || c == ',' || c == '+' || c == '?':
		if len(w) > 1 {
			return 0, false
		}
		return symbol, false
	case c == '-':
		return classifyMinus(w)
	case c == '$':
		return classifyMacro(w[1:])
	case scan.IsLetter(c):
		if nameLen(w) == len(w) {
			return name, true
		}
		return 0, false
	case scan.IsDigit(c):
		return classifyNumber(w)
	}
	return 0, false
}

// classifyText classifies a word that starts with a quote. A text is not empty and ends with the
// same quote on its line.
func classifyText(w string) (kind, bool) {
	end := strings.IndexAny(w[1:], w[:1]+"\n")
	switch {
	case end < 0:
		return 0, true
	case end == 0 || end+2 < len(w):
		return 0, false
	case w[end+1] == '\n':
		return unterminated, false
	}
	return text, false
}

func classifyMacro(name string) (kind, bool) {
	switch {
	case name == "":
		return 0, true
	case nameLen(name) == len(name) && !strings.ContainsAny(name, "./:-"):
		return macro, true
	}
	return 0, false
}

func classifyMinus(w string) (kind, bool) {
	switch rest := w[1:]; {
	case rest == "":
		return 0, true
	case digits(rest) == len(rest):
		return negative, true
	case nameLen(rest) == len(rest):
		return minus, true
	}
	return 0, false
}

// cutHex returns a word without the prefix of hexadecimal numbers.
func cutHex(w string) (digits string, ok bool) {
	if len(w) >= 2 && w[0] == '0' && w[1]|0x20 == 'x' {
		return w[2:], true
	}
	return w, false
}

func classifyNumber(w string) (kind, bool) {
	if hex, ok := cutHex(w); ok {
		switch {
		case hex == "":
			return 0, true
		case digits(hex) == len(hex):
			return number, true
		}
		return 0, false
	}
	for parts := 0; parts < 3; parts++ {
		n := digits(w)
		switch {
		case n == 0 && w == "":
			return 0, true // behind a dot
		case n == 0:
			return 0, false
		case n == len(w):
			return []kind{number, pair, triple}[parts], true
		case w[n] != '.' || parts == 2:
			return 0, false
		}
		w = w[n+1:]
	}
	return 0, false
}

// nameLen returns the number of bytes at the start of w that form a name.
func nameLen(w string) int {
	n := 0
	for n < len(w) && (scan.IsLetter(w[n]) || n > 0 && (scan.IsDigit(w[n]) || strings.IndexByte("_./:-", w[n]) >= 0)) {
		n++
	}
	return n
}

func digits(w string) int {
	n := 0
	for n < len(w) && scan.IsDigit(w[n]) {
		n++
	}
	return n
}

// arguments reads the words up to the end of the line. Quotes group bytes into a word and are
// removed.
func (s *scanner) arguments() []string {
	var args []string
	var word []byte
	var quote byte
	end := func() {
		if len(word) > 0 { // "" is no argument
			args = append(args, string(word))
		}
		word = nil
	}
	for {
		c, ok := s.in.next()
		switch {
		case !ok, c == '\n':
			end()
			return args
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' || c == '\t':
			end()
		default:
			word = append(word, c)
		}
	}
}
