package pmtop

import (
	"strings"
	"unicode/utf8"
)

// A style is the appearance of text on a terminal.
type style uint8

const (
	plain style = iota
	bold
	dim
	inverse
	good
	warm
	hot
	cool
)

// sgr are the parameters of the control sequence that selects each style.
var sgr = [...]string{plain: "", bold: "1", dim: "2", inverse: "7", good: "32", warm: "33", hot: "31", cool: "36"}

// A span is a piece of text in one style.
type span struct {
	text  string
	style style
}

// A line is a line of the view.
type line []span

func text(s string) line { return line{{text: s}} }

// width returns the number of characters.
func (l line) width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

// appendTo appends the part that fits in width characters. Width 0 means no limit. Without styled
// it appends only the text.
func (l line) appendTo(b []byte, width int, styled bool) []byte {
	bounded := width > 0
	for _, s := range l {
		piece := s.text
		if bounded {
			piece = clip(piece, width)
			width -= utf8.RuneCountInString(piece)
		}
		if styled && s.style != plain {
			b = append(b, "\x1b["+sgr[s.style]+"m"...)
			b = append(b, piece...)
			b = append(b, "\x1b[0m"...)
		} else {
			b = append(b, piece...)
		}
		if bounded && width == 0 {
			break
		}
	}
	return b
}

// clip returns the first width characters of s.
func clip(s string, width int) string {
	for i := range s {
		if width == 0 {
			return s[:i]
		}
		width--
	}
	return s
}

// padLeft adds blanks on the left.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
}

// padRight adds blanks on the right, or cuts a longer text.
func padRight(s string, width int) string {
	s = clip(s, width)
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}
