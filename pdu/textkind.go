package pdu

import (
	"strconv"
	"strings"
)

// A TextKind is a set of bits that select a help text: one of TextOneLine and
// TextHelp with one of TextPMID and TextInDom. It is PM_TEXT_* of the C library.
type TextKind int32

// The kinds of help text.
const (
	TextOneLine TextKind = 1  // the short text, of one line
	TextHelp    TextKind = 2  // the long text
	TextPMID    TextKind = 4  // the identifier is a PMID
	TextInDom   TextKind = 8  // the identifier is an InDom
	TextDirect  TextKind = 16 // for the client alone, never sent: no one-line text in place of a missing help text
)

var textKindNames = [...]string{"oneline", "help", "pmid", "indom", "direct"}

// String is the names of the bits, such as "oneline,pmid".
func (k TextKind) String() string { return bitNames(uint32(k), textKindNames[:]) }

// bitNames joins the names of the bits in v; a bit without a name is a number.
func bitNames(v uint32, names []string) string {
	var s []string
	for i, n := range names {
		if v&(1<<i) != 0 {
			s = append(s, n)
		}
	}
	if rest := v >> len(names) << len(names); rest != 0 || v == 0 {
		s = append(s, "0x"+strconv.FormatUint(uint64(rest), 16))
	}
	return strings.Join(s, ",")
}
