package helptext

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// A Kind is the kind of a problem with an entry.
type Kind int

// The kinds of problems, with what becomes of the entry.
const (
	UnknownKey Kind = iota // it is left out
	Duplicate              // it is left out
	EmptyEntry             // there is no key; it is left out
	SplitLine              // a long line has become two
	CutEntry               // the end of a long entry is missing
	NoOneLine              // the one-line text is empty
	NoHelp                 // the long text is empty
)

// A Problem is what is wrong with an entry of a source. Its text is that of
// newhelp(1).
type Problem struct {
	File string
	Line int // of the entry; with Parser.Newhelp the line at which newhelp reports it
	Kind Kind
	Key  string         // of the entry, empty if that has none
	Of   pdu.TextTarget // of Duplicate what there is another entry of
	Text string         // of SplitLine and CutEntry the last of what precedes it; of NoOneLine and NoHelp the line of the key
	Err  error          // of UnknownKey why it is not known
}

// Error returns the place and the problem.
func (p *Problem) Error() string {
	at := fmt.Sprintf("[%s:%d] ", p.File, p.Line)
	switch p.Kind {
	case UnknownKey:
		return fmt.Sprintf("%s%s: %v, entry abandoned", at, p.Key, p.Err)
	case Duplicate:
		return fmt.Sprintf("%sduplicate key (%s) entry abandoned", at, id(p.Of))
	case EmptyEntry:
		return at + "null entry?"
	case SplitLine:
		return at + "long line split after ...\n" + p.Text
	case CutEntry:
		return at + "entry truncated after ... " + p.Text
	case NoOneLine:
		return at + p.Text + ": warning, null oneline"
	case NoHelp:
		return at + p.Text + ": warning, null help"
	}
	return at + "unknown problem"
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// id returns the identifier of the metric or instance domain that an entry describes.
func id(of pdu.TextTarget) string {
	if d, ok := of.InDom(); ok {
		return d.String()
	}
	m, _ := of.PMID()
	return m.String()
}
