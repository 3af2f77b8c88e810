package exposition

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// An Escaping is a way to write names with characters other than letters, digits and "_", such as
// the dots in PCP's names. Prometheus 3 requests one with its parameter escaping.
type Escaping int

const (
	Underscores Escaping = iota // disk.dev.rd_x is disk_dev_rd_x
	Dots                        // disk_dot_dev_dot_rd__x, and "__" for other characters
	Values                      // U__disk_2e_dev_2e_rd__x
	UTF8                        // {"disk.dev.rd_x"}
	Colons                      // disk:dev:rd_x, the older form of pmproxy; no scraper requests it
)

var escapingNames = [...]string{"underscores", "dots", "values", "allow-utf-8", "colons"}

// String returns the value of the parameter escaping.
func (e Escaping) String() string { return escapingNames[e] }

func isPlainName(name string) bool {
	for i := range len(name) {
		if !base.IsNameRune(rune(name[i]), i == 0) {
			return false
		}
	}
	return name != ""
}

// escape returns the name of a metric or a label as e writes it. UTF8 keeps valid names.
func (e Escaping) escape(name string) string {
	switch e {
	case UTF8:
		return strings.ToValidUTF8(name, "\uFFFD")
	case Values:
		if isPlainName(name) {
			return name
		}
		return valuesEscape(name)
	case Underscores:
		return base.Underscores(name)
	case Colons:
		return base.WithDots(name, ':')
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '.':
			b.WriteString("_dot_")
		case r != '_' && base.IsNameRune(r, i == 0):
			b.WriteRune(r)
		default:
			b.WriteString("__")
		}
	}
	return b.String()
}

// valuesEscape writes the numbers of all other characters, in lower-case hexadecimal like
// Prometheus' library, so that different names stay different.
func valuesEscape(name string) string {
	var b strings.Builder
	b.WriteString("U__")
	for i, r := range name {
		switch {
		case r == '_':
			b.WriteString("__")
		case base.IsNameRune(r, i == 0):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	return b.String()
}

// quoted reports whether a name needs quotes. Only UTF8 has quoted names.
func (e Escaping) quoted(name string) bool { return e == UTF8 && !isPlainName(name) }

// appendQuoted writes a label's value or a name in quotes.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	b = appendEscaped(b, s, true)
	return append(b, '"')
}

// appendEscaped writes a text on one line. It escapes quotes if quotes is set.
func appendEscaped(b []byte, s string, quotes bool) []byte {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\':
			b = append(b, `\\`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '"' && quotes:
			b = append(b, `\"`...)
		default:
			b = append(b, c)
		}
	}
	return b
}
