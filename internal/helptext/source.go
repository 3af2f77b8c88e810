package helptext

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// An Entry is the help texts of a metric or an instance domain.
type Entry struct {
	Key     string         // as the source has it; empty in what Decode returns
	Of      pdu.TextTarget // what it describes
	OneLine string         // the one-line text
	Help    string         // the long one
}

// The limits of newhelp(1), which only a Parser with Newhelp has.
const (
	maxLine  = 127  // bytes of a line, with the newline
	maxEntry = 1024 // bytes of an entry, from the key on
	keptOf   = 1022 // as many of a longer one
	shownOf  = 62   // as many of these does a message show
)

// A Parser reads sources of help texts. It is for one goroutine.
type Parser struct {
	// Resolve returns what a key stands for, such as a metric's name, or pdu.ErrName if it stands
	// for nothing. The Parser does not need it for keys that ParseKey accepts. If Resolve is nil,
	// all other keys are unknown.
	Resolve func(key string) (pdu.TextTarget, error)
	// Report, if not nil, is called with what is wrong with an entry.
	Report func(p *Problem)
	// Added, if not nil, is called with each entry after it was added, and after what is
	// wrong with it was reported.
	Added func(e *Entry)
	// Newhelp has the Parser do all that newhelp(1) of PCP 6.0.3 does, so that Compile makes the
	// same files of the Entries. Lines are split after 127 bytes, or before a NUL; entries are cut
	// after 1022, and what follows such an entry is left out. A duplicate then counts only if it
	// directly follows an entry of the same target, and at least two entries come before it.
	// Otherwise texts keep their length, and every duplicate is left out.
	Newhelp bool

	// Entries are what has been read, in the order of the sources.
	Entries []Entry

	seen map[pdu.TextTarget]bool
	line int // lines read, of all sources
}

// Parse reads a source, and adds its entries to Entries. The name is for Problems. The
// error is that of r.
func (p *Parser) Parse(name string, r io.Reader) error {
	s := source{p: p, file: name, in: bufio.NewReader(r)}
	if !p.Newhelp {
		p.line = 0
	}
	for {
		line, err := s.next()
		p.line++
		if line == nil {
			s.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s.add(line)
	}
}

// A source is a source that is being read.
type source struct {
	p    *Parser
	file string
	in   *bufio.Reader

	open  bool   // there is an entry
	cut   bool   // of which the end is missing
	first int    // its line
	text  []byte // its text, from the key on
}

// next reads a line, or a part of one that is too long; nil at the end.
func (s *source) next() ([]byte, error) {
	if !s.p.Newhelp {
		line, err := s.in.ReadBytes('\n')
		if len(line) == 0 {
			return nil, err
		}
		return line, nil
	}
	var line []byte
	for len(line) < maxLine {
		c, err := s.in.ReadByte()
		if err != nil {
			if line == nil {
				return nil, err
			}
			break
		}
		if line = append(line, c); c == '\n' {
			break
		}
	}
	line, _, _ = bytes.Cut(line, []byte{0}) // of a C string there is no more
	return line, nil
}

// add adds a line to the entry, or begins the next one.
func (s *source) add(line []byte) {
	switch {
	case len(line) > 0 && line[0] == '#':
		return
	case len(line) > 0 && line[0] == '@':
		wasCut := s.cut
		s.end()
		line = bytes.TrimLeft(line[1:], blanks)
		if wasCut || len(line) == 0 || line[0] == '\n' {
			s.report(Problem{Line: s.p.line, Kind: EmptyEntry})
			return
		}
		s.open, s.first = true, s.p.line
	case !s.open || s.cut:
		return
	}
	s.text = append(s.text, line...)
	if !s.p.Newhelp {
		return
	}
	if !bytes.HasSuffix(line, []byte("\n")) {
		s.report(Problem{Line: s.p.line, Kind: SplitLine, Text: string(s.text)})
		s.p.line--
		s.text = append(s.text, '\n')
	}
	if len(s.text) > maxEntry {
		s.cut, s.text = true, s.text[:keptOf]
		s.report(Problem{Line: s.p.line, Kind: CutEntry, Text: string(s.text[keptOf-shownOf:])})
	}
}

// blanks separate an @, a key and a one-line text; a newline does too.
const blanks = " \t\v\f\r"

// end adds the entry to the Entries.
func (s *source) end() {
	if !s.open {
		return
	}
	first, help, _ := strings.Cut(string(s.text), "\n")
	s.open, s.cut, s.text = false, false, s.text[:0]
	at := s.first
	if s.p.Newhelp {
		at = s.p.line
	}
	e := Entry{Key: first, Help: strings.TrimRight(help, "\n")}
	if i := strings.IndexAny(first, blanks); i >= 0 {
		e.Key, e.OneLine = first[:i], strings.TrimLeft(first[i:], blanks)
	}
	var err error
	if e.Of, err = s.p.target(e.Key); err != nil {
		s.report(Problem{Line: at, Kind: UnknownKey, Key: e.Key, Err: err})
		return
	}
	if s.p.isDuplicate(e.Of) {
		s.report(Problem{Line: at, Kind: Duplicate, Key: e.Key, Of: e.Of})
		return
	}
	s.p.Entries = append(s.p.Entries, e)
	if e.OneLine == "" {
		s.report(Problem{Line: at, Kind: NoOneLine, Key: e.Key, Text: first})
	}
	if e.Help == "" {
		s.report(Problem{Line: at, Kind: NoHelp, Key: e.Key, Text: first})
	}
	if s.p.Added != nil {
		s.p.Added(&e)
	}
}

func (s *source) report(p Problem) {
	p.File = s.file
	if s.p.Report != nil {
		s.p.Report(&p)
	}
}

// target returns the metric or instance domain of a key.
func (p *Parser) target(key string) (pdu.TextTarget, error) {
	err := error(pdu.ErrName)
	if p.Resolve != nil {
		var of pdu.TextTarget
		if of, err = p.Resolve(key); err == nil {
			return of, nil
		}
	}
	if of, ok := ParseKey(key); ok {
		return of, nil
	}
	return pdu.TextTarget{}, err
}

// isDuplicate reports whether an entry duplicates an earlier one of the same target.
func (p *Parser) isDuplicate(of pdu.TextTarget) bool {
	if p.Newhelp {
		n := len(p.Entries)
		return n > 1 && p.Entries[n-1].Of == of
	}
	if p.seen == nil {
		p.seen = map[pdu.TextTarget]bool{}
	}
	before := p.seen[of]
	p.seen[of] = true
	return before
}
