package report

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
)

// Texts in the place of values.
const (
	missing  = "N/A" // the instance has no value
	absent   = "~"   // the metric does not have the instance
	overflow = "xxx" // the number is too long for its column
)

// appendBlanks appends n blanks.
func appendBlanks(b []byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, ' ')
	}
	return b
}

// appendRight appends a text, padded on its left to a width.
func appendRight[T string | []byte](b []byte, text T, width int) []byte {
	return append(appendBlanks(b, width-runes(text)), text...)
}

// appendLeft appends a text, padded on its right to a width.
func appendLeft[T string | []byte](b []byte, text T, width int) []byte {
	return appendBlanks(append(b, text...), width-runes(text))
}

// appendCell appends a text that is made as long as a width: cut on its right or padded on its
// left.
func appendCell[T string | []byte](b []byte, text T, width int) []byte {
	return appendRight(b, cut(text, width), width)
}

// runes is how many characters a text has.
func runes[T string | []byte](text T) int {
	n := 0
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

// cut returns the first n characters of a text.
func cut[T string | []byte](text T, n int) T {
	if len(text) <= n {
		return text
	}
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			if n == 0 {
				return text[:i]
			}
			n--
		}
	}
	return text
}

// appendValue appends a value as a cell of a metric's column.
func (f *formatter) appendValue(b []byte, a pdu.Atom, m *Metric) []byte {
	switch a.Type {
	case pdu.TypeString:
		f.text = f.appendString(f.text[:0], a.Bytes())
		return appendCell(b, f.text, m.Width)
	case pdu.TypeFloat, pdu.TypeDouble:
		f.text = appendReal(f.text[:0], real(a), m.Width, m.Precision)
	default:
		if f.text = a.AppendTo(f.text[:0]); len(f.text) > m.Width {
			f.text = append(f.text[:0], overflow...)
		}
	}
	return appendRight(b, f.text, m.Width)
}

// A formatter formats values.
type formatter struct {
	delimiter []byte // which strings must not have in them; empty if they may
	instead   byte   // of the delimiter
	text      []byte // of a value
}

// newFormatter returns the formatter of text in columns. Blanks in strings are no harm: the columns
// are as wide as their headings.
func newFormatter(delimiter string) formatter {
	f := formatter{instead: '_'}
	if len(bytes.TrimSpace([]byte(delimiter))) > 0 {
		f.delimiter = []byte(delimiter)
	}
	if delimiter == "_" {
		f.instead = ' '
	}
	return f
}

// appendString appends a string without newlines and delimiters.
func (f *formatter) appendString(b, s []byte) []byte {
	for len(s) > 0 {
		switch {
		case s[0] == '\n':
			b, s = append(b, `\n`...), s[1:]
		case len(f.delimiter) > 0 && bytes.HasPrefix(s, f.delimiter):
			b, s = append(b, f.instead), s[len(f.delimiter):]
		default:
			b, s = append(b, s[0]), s[1:]
		}
	}
	return b
}

// real is the number of a float or a double.
func real(a pdu.Atom) float64 {
	v, _ := pdu.As[float64](a)
	return v
}

// appendReal appends a number with up to precision digits after the decimal point, as many as width
// has room for. If there is no room for any, it truncates the number. "xxx" replaces a number that
// is still too long.
func appendReal(b []byte, v float64, width, precision int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if text := special(v); len(text) <= width {
			return append(b, text...)
		}
		return append(b, overflow...)
	}
	start := len(b)
	b = appendTruncated(b, v)
	switch whole := len(b) - start; {
	case whole > width:
		return append(b[:start], overflow...)
	case whole+2 > width:
		return b
	default:
		precision = min(precision, width-whole-1)
	}
	for ; ; precision-- {
		// Rounding may make the number longer, and so does the sign of one that is truncated to 0.
		b = strconv.AppendFloat(b[:start], v, 'f', precision, 64)
		if len(b)-start <= width || precision == 0 {
			return b
		}
	}
}

// appendTruncated appends the integer that a number is truncated to.
func appendTruncated(b []byte, v float64) []byte {
	v = math.Trunc(v)
	if v == 0 {
		return append(b, '0') // not "-0"
	}
	return strconv.AppendFloat(b, v, 'f', 0, 64)
}

// special is the text of a number that is not finite.
func special(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case v > 0:
		return "inf"
	}
	return "-inf"
}
