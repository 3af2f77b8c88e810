package pmns

import (
	"fmt"
	"io"
	"strings"

	"github.com/pcp-go/pcp/internal/pmcpp"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// A def is the definition of a node in a file: its path and its children.
type def struct {
	path string
	kids []defKid
	at   map[string]struct{} // the names of kids, once there are many
	used bool                // whether it is connected to the tree
}

type defKid struct {
	name string
	id   pdu.PMID // NoPMID for a non-leaf
}

// smallNode is the greatest number of children that are searched one by one.
const smallNode = 8

func (d *def) has(name string) bool {
	if d.at != nil {
		_, ok := d.at[name]
		return ok
	}
	for i := range d.kids {
		if d.kids[i].name == name {
			return true
		}
	}
	return false
}

func (d *def) add(name string) {
	d.kids = append(d.kids, defKid{name: name, id: pdu.NoPMID})
	switch {
	case d.at != nil:
		d.at[name] = struct{}{}
	case len(d.kids) > smallNode:
		d.at = make(map[string]struct{}, 2*len(d.kids))
		for i := range d.kids {
			d.at[d.kids[i].name] = struct{}{}
		}
	}
}

// A state tells what input the parser expects next.
type state int

const (
	outside   state = iota // a path
	afterPath              // {
	inside                 // a name or }
	afterName              // the PMID of that name, or, without a PMID, the next name or }
)

var expected = [...]string{
	outside:   "Expected NAME or PATH",
	afterPath: "{ expected",
	inside:    "Expected NAME or }",
	afterName: "Expected NAME, PMID or }",
}

// A parser turns words into definitions. The input may end in any state, as in the C library.
type parser struct {
	state state
	defs  []*def
	line  []byte // the line being parsed, its white space reduced
}

func parse(src *pmcpp.Reader) ([]*def, error) {
	var p parser
	for {
		at, err := src.Next()
		if err == io.EOF {
			return p.defs, nil
		}
		if err != nil {
			return nil, preprocessError(err)
		}
		p.line = squeeze(p.line[:0], at.Text)
		if err := p.words(at); err != nil {
			return nil, err
		}
	}
}

// squeeze appends s to b without white space at its start and around colons, and
// with other white space reduced to one character: "1 : 2 : 3" is one word.
func squeeze(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		last := byte(' ')
		if len(b) > 0 {
			last = b[len(b)-1]
		}
		switch {
		case scan.IsSpace(c) && (scan.IsSpace(last) || last == ':'):
		case c == ':' && len(b) > 0 && scan.IsSpace(last):
			b[len(b)-1] = ':'
		default:
			b = append(b, c)
		}
	}
	return b
}

func (p *parser) words(at pmcpp.Line) error {
	for i := 0; i < len(p.line); {
		if scan.IsSpace(p.line[i]) {
			i++
			continue
		}
		start := i
		for i < len(p.line) && !scan.IsSpace(p.line[i]) {
			i++
		}
		if msg := p.word(p.line[start:i]); msg != "" {
			return &ParseError{File: at.File, Line: at.Number, Text: string(p.line), Column: start + 1, Msg: msg}
		}
	}
	return nil
}

// word parses the next word. It returns the text of an error, or "".
func (p *parser) word(w []byte) string {
	kind := kindOf(w)
	switch p.state {
	case outside:
		if kind == name || kind == dotted {
			p.defs = append(p.defs, &def{path: string(w)})
			p.state = afterPath
			return ""
		}
	case afterPath:
		if kind == open {
			p.state = inside
			return ""
		}
	case inside, afterName:
		d := p.defs[len(p.defs)-1]
		switch {
		case kind == name:
			if d.has(string(w)) {
				return fmt.Sprintf("Duplicate name %q in subtree for %q", w, d.path)
			}
			d.add(string(w))
			p.state = afterName
			return ""
		case kind == shut:
			p.state = outside
			return ""
		case kind == number && p.state == afterName:
			id, msg := parsePMID(string(w))
			d.kids[len(d.kids)-1].id = id
			p.state = inside
			return msg
		}
	}
	// The C library checks a PMID wherever it is.
	if kind == number {
		if _, msg := parsePMID(string(w)); msg != "" {
			return msg
		}
	}
	return expected[p.state]
}

type kind int

const (
	bad    kind = iota
	open        // {
	shut        // }
	name        // a letter, then letters, digits and underscores
	dotted      // the same with dots
	number      // digits, stars and up to three colons
)

func kindOf(w []byte) kind {
	switch {
	case len(w) == 1 && w[0] == '{':
		return open
	case len(w) == 1 && w[0] == '}':
		return shut
	case scan.IsLetter(w[0]):
		k := name
		for _, c := range w {
			switch {
			case c == '.':
				k = dotted
			case !isWord(c):
				return bad
			}
		}
		return k
	}
	colons := 0
	for _, c := range w {
		switch {
		case c == ':':
			colons++
		case c != '*' && !scan.IsDigit(c):
			return bad
		}
	}
	if colons > 3 {
		return bad
	}
	return number
}

// parsePMID parses domain:cluster:item, domain:*:* or, as the C library does,
// the domain alone for the latter. Text after a complete PMID ("1:2:3:4") is
// ignored, as in the C library.
func parsePMID(w string) (id pdu.PMID, msg string) {
	const illegal = "Illegal PMID"
	domain, rest, ok := leadingInt(w)
	if !ok {
		return pdu.NoPMID, illegal
	}
	if rest == ":*:*" || !strings.Contains(rest, ":") {
		if domain > int(pdu.MaxDomain) {
			return pdu.NoPMID, "Illegal domain field in dynamic PMID"
		}
		return pdu.DynamicRoot(pdu.Domain(domain)), ""
	}
	var low [2]int
	for i := range low {
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			return pdu.NoPMID, illegal
		}
		if low[i], rest, ok = leadingInt(rest); !ok {
			return pdu.NoPMID, illegal
		}
	}
	switch {
	case domain > int(pdu.MaxDomain):
		return pdu.NoPMID, "Illegal domain field in PMID"
	case low[0] > pdu.MaxCluster:
		return pdu.NoPMID, "Illegal cluster field in PMID"
	case low[1] > pdu.MaxItem:
		return pdu.NoPMID, "Illegal item field in PMID"
	}
	return pdu.MakePMID(pdu.Domain(domain), low[0], low[1]), ""
}

// leadingInt parses the digits at the start of s. A greater number becomes 1<<20, which no field
// can hold.
func leadingInt(s string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(s) && scan.IsDigit(s[i]); i++ {
		n = min(10*n+int(s[i]-'0'), 1<<20)
	}
	return n, s[i:], i > 0
}

func isWord(c byte) bool { return scan.IsLetter(c) || scan.IsDigit(c) || c == '_' }
