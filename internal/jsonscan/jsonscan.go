// Package jsonscan finds the names and values in a JSON object, and removes
// white space from JSON text, without changing the text of a value: label sets
// refer to their text by offsets.
package jsonscan

import (
	"fmt"

	"github.com/pcp-go/pcp/internal/scan"
)

// MaxDepth is the number of objects and arrays that may lie within each other.
const MaxDepth = 64

// A SyntaxError is a flaw in a text, and the offset where it is.
type SyntaxError struct {
	Offset  int
	Problem string
}

// Error is one line with both.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("JSON at offset %d: %s", e.Offset, e.Problem)
}

// A Member is a value in an object with its name. Offsets are into the text;
// the name's exclude the quotes, the value's include those of a string.
type Member struct {
	Path               []byte // names of the enclosing objects and its own, joined by dots; valid during the call
	NameOff, NameLen   int    // its own name
	ValueOff, ValueLen int
	Depth              int // 1 for a member of the outermost object
}

// Compact appends src, which must be one JSON value, to dst without the white
// space outside strings. Everything else stays as it is. After an error dst is
// returned as it was.
func Compact(dst, src []byte) ([]byte, error) {
	s := scanner{src: src, dst: dst, compact: true}
	if err := s.document(func() { s.value(0) }); err != nil {
		return dst, err
	}
	return s.dst, nil
}

// CompactMembers is Compact for an object without the members whose names keep rejects, and
// without the objects that have no other members. Members of objects in arrays all stay.
func CompactMembers(dst, src []byte, keep func(name []byte) bool) ([]byte, error) {
	s := scanner{src: src, dst: dst, compact: true, keep: keep}
	if err := s.document(func() { s.value(0) }); err != nil {
		return dst, err
	}
	return s.dst, nil
}

// Walk calls f for each member of the object in text, and of the objects in it,
// in the order of the text. A member that is an object is skipped in favour of its
// members, unless it is empty. An array is one value: its elements are not
// visited. Walk returns the first error, of f or of the text.
func Walk(text []byte, f func(Member) error) error {
	s := scanner{src: text, member: f}
	return s.document(func() {
		if s.peek() != '{' {
			s.fail("want an object")
			return
		}
		s.value(0)
	})
}

// A scanner reads src from pos. After a failure it stands still.
type scanner struct {
	src     []byte
	pos     int
	err     error
	compact bool
	dst     []byte // what was read, without white space, if compact
	keep    func(name []byte) bool
	member  func(Member) error
	path    []byte
	arrays  int // number of open arrays: members within one are not visited
}

// document calls scan between optional white space, up to the end.
func (s *scanner) document(scan func()) error {
	s.space()
	scan()
	s.space()
	if s.err == nil && s.pos < len(s.src) {
		s.fail("text after the value")
	}
	return s.err
}

func (s *scanner) fail(problem string) {
	if s.err == nil {
		s.err = &SyntaxError{Offset: s.pos, Problem: problem}
	}
}

// peek is the next byte, 0 at the end and after a failure.
func (s *scanner) peek() byte {
	if s.err != nil || s.pos >= len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

// skip moves past n bytes, and keeps them if compact.
func (s *scanner) skip(n int) {
	if s.compact {
		s.dst = append(s.dst, s.src[s.pos:s.pos+n]...)
	}
	s.pos += n
}

// space moves past white space.
func (s *scanner) space() {
	for {
		switch s.peek() {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// accept moves past c, and white space after it, if c is next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.skip(1)
	s.space()
	return true
}

// expect is accept that fails if c is not next.
func (s *scanner) expect(c byte) {
	if !s.accept(c) {
		s.fail("want " + string(rune(c)))
	}
}

// value scans any value, with depth objects and arrays around it. It reports whether it is an
// object that lost all members.
func (s *scanner) value(depth int) (emptied bool) {
	switch c := s.peek(); {
	case (c == '{' || c == '[') && depth == MaxDepth:
		s.fail(fmt.Sprintf("nested deeper than %d", MaxDepth))
	case c == '{':
		return s.object(depth)
	case c == '[':
		s.array(depth)
	case c == '"':
		s.string()
	case c == '-' || scan.IsDigit(c):
		s.number()
	default:
		s.word()
	}
	return false
}

// object scans an object. It reports whether it dropped all members.
func (s *scanner) object(depth int) (emptied bool) {
	s.expect('{')
	first, kept := len(s.dst), len(s.dst) // where members begin and those kept so far end
	for s.peek() != '}' {
		if kept == first {
			s.dst = s.dst[:first] // without the comma after a dropped member
		}
		if s.pair(depth + 1) {
			kept, emptied = len(s.dst), false
		} else {
			s.dst, emptied = s.dst[:kept], kept == first
		}
		if s.err != nil || s.peek() == '}' {
			break
		}
		s.expect(',')
		if s.peek() == '}' {
			s.fail("want a name")
		}
	}
	s.close('}')
	return emptied
}

func (s *scanner) array(depth int) {
	s.arrays++
	s.expect('[')
	for s.peek() != ']' {
		s.value(depth + 1)
		s.space()
		if s.err != nil || s.peek() == ']' {
			break
		}
		s.expect(',')
		if s.peek() == ']' {
			s.fail("want a value")
		}
	}
	s.close(']')
	s.arrays--
}

// close moves past the end of an object or an array, but not past white space
// after it, which does not belong to the value.
func (s *scanner) close(c byte) {
	if s.err == nil && s.peek() != c {
		s.fail("want " + string(rune(c)))
	}
	if s.err == nil {
		s.skip(1)
	}
}

// pair scans a name and its value in an object of the depth. It reports whether to keep them.
func (s *scanner) pair(depth int) (keep bool) {
	if s.peek() != '"' {
		s.fail("want a name")
		return true
	}
	m := Member{NameOff: s.pos + 1, Depth: depth}
	s.string()
	m.NameLen = s.pos - 1 - m.NameOff
	s.space()
	s.expect(':')
	if s.err != nil {
		return true
	}
	keep = s.keep == nil || s.arrays > 0 || s.keep(s.src[m.NameOff:m.NameOff+m.NameLen])
	outer := len(s.path)
	if s.member != nil && s.arrays == 0 {
		if outer > 0 {
			s.path = append(s.path, '.')
		}
		s.path = append(s.path, s.src[m.NameOff:m.NameOff+m.NameLen]...)
	}
	m.ValueOff = s.pos
	nested := s.peek() == '{' && !s.emptyObject()
	keep = !s.value(depth) && keep
	m.ValueLen = s.pos - m.ValueOff
	if s.err == nil && s.member != nil && s.arrays == 0 && !nested {
		m.Path = s.path
		s.err = s.member(m)
	}
	s.path = s.path[:outer]
	s.space()
	return keep
}

// emptyObject reports whether the object that is next has no members.
func (s *scanner) emptyObject() bool {
	for _, c := range s.src[s.pos+1:] {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c == '}'
		}
	}
	return false
}

func (s *scanner) string() {
	n := 1
	for {
		if s.pos+n >= len(s.src) {
			s.fail("string without end")
			return
		}
		switch c := s.src[s.pos+n]; {
		case c == '"':
			s.skip(n + 1)
			return
		case c < ' ':
			s.fail("control character in a string")
			return
		case c == '\\':
			k := escape(s.src[s.pos+n:])
			if k == 0 {
				s.fail("bad escape in a string")
				return
			}
			n += k
		default:
			n++
		}
	}
}

// escape returns the length of the escape at the start of b, or 0.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !scan.IsHexDigit(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (s *scanner) number() {
	b := s.src[s.pos:]
	n := 0
	if b[0] == '-' {
		n++
	}
	d := digits(b[n:])
	if d == 0 || d > 1 && b[n] == '0' {
		s.fail("bad number")
		return
	}
	n += d
	if n < len(b) && b[n] == '.' {
		d = digits(b[n+1:])
		if d == 0 {
			s.fail("bad number")
			return
		}
		n += 1 + d
	}
	if n < len(b) && b[n]|0x20 == 'e' {
		n++
		if n < len(b) && (b[n] == '+' || b[n] == '-') {
			n++
		}
		if d = digits(b[n:]); d == 0 {
			s.fail("bad number")
			return
		}
		n += d
	}
	s.skip(n)
}

// digits is the number of digits that b starts with.
func digits(b []byte) int {
	for i, c := range b {
		if !scan.IsDigit(c) {
			return i
		}
	}
	return len(b)
}

func (s *scanner) word() {
	if s.err != nil {
		return
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if len(s.src)-s.pos >= len(w) && string(s.src[s.pos:s.pos+len(w)]) == w {
			s.skip(len(w))
			return
		}
	}
	s.fail("want a value")
}
