package procfile

import (
	"bytes"
	"iter"
	"math"
	"strconv"

	"github.com/pcp-go/pcp/internal/scan"
)

var newline = []byte("\n")

// CutLine returns the first line without its newline, and the rest of the text. ok is false if
// there is no newline: the last numbers of a text that has been cut short may be incomplete.
func CutLine(text []byte) (line, rest []byte, ok bool) {
	return bytes.Cut(text, newline)
}

// Lines yields the lines that end in a newline, without it.
func Lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line, rest, ok := CutLine(text); ok && yield(line); line, rest, ok = CutLine(rest) {
		}
	}
}

// OnlyLine returns the line of a text that is one line with a newline.
func OnlyLine(text []byte) (line []byte, ok bool) {
	line, rest, ok := CutLine(text)
	return line, ok && len(rest) == 0
}

// Truncated reports whether the last line of a text has no newline.
func Truncated(text []byte) bool { return len(text) > 0 && text[len(text)-1] != '\n' }

// HasCompleteLines reports whether a text has lines and the last one ends with a newline.
func HasCompleteLines(text []byte) bool { return len(text) > 0 && !Truncated(text) }

// CutField returns the first field of a line and the rest. Blanks and tabs separate fields. The
// field is empty if the line has no other characters.
func CutField(line []byte) (field, rest []byte) {
	from := 0
	for from < len(line) && isBlank(line[from]) {
		from++
	}
	to := from
	for to < len(line) && !isBlank(line[to]) {
		to++
	}
	return line[from:to], line[to:]
}

// CutLastField is CutField from the end of the line: it returns the last field, and what
// precedes it.
func CutLastField(line []byte) (rest, field []byte) {
	line = bytes.TrimRight(line, " \t")
	from := len(line)
	for from > 0 && !isBlank(line[from-1]) {
		from--
	}
	return line[:from], line[from:]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// CutUint is CutField for a decimal number of 64 bits.
func CutUint(line []byte) (v uint64, rest []byte, ok bool) {
	field, rest := CutField(line)
	v, ok = ParseUint(field)
	return v, rest, ok
}

// CutUints is CutUint for as many numbers as to has room for.
func CutUints(line []byte, to []uint64) (rest []byte, ok bool) {
	for i := range to {
		if to[i], line, ok = CutUint(line); !ok {
			return line, false
		}
	}
	return line, true
}

// CutDecimal is CutField for a number like 2596.138. It accepts no sign, no exponent, and no
// other form that ParseFloat accepts.
func CutDecimal(line []byte) (v float64, rest []byte, ok bool) {
	field, rest := CutField(line)
	for _, c := range field {
		if !scan.IsDigit(c) && c != '.' {
			return 0, rest, false
		}
	}
	v, ok = ParseFloat(field)
	return v, rest, ok && !math.IsInf(v, 0)
}

// ParseUint parses a decimal number of 64 bits without a sign.
func ParseUint(field []byte) (v uint64, ok bool) {
	for i, c := range field {
		d := uint64(c - '0')
		if d > 9 || i >= safeDigits && v > (1<<64-1-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, len(field) > 0
}

// safeDigits is how many digits a number of 64 bits can have in any case.
const safeDigits = 19

// ParseUint32 is ParseUint for a number of 32 bits.
func ParseUint32(field []byte) (uint32, bool) {
	v, ok := ParseUint(field)
	return uint32(v), ok && v <= math.MaxUint32
}

// ParseHex parses a hexadecimal number of 64 bits without a prefix.
func ParseHex(field []byte) (v uint64, ok bool) {
	for _, c := range field {
		switch {
		case v >= 1<<60:
			return 0, false
		case scan.IsDigit(c):
			v = v<<4 | uint64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | uint64(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, len(field) > 0
}

// ParseFloat parses a number with a fraction, in any form that strconv takes.
func ParseFloat(field []byte) (v float64, ok bool) {
	v, err := strconv.ParseFloat(string(field), 64)
	return v, err == nil
}

// NumberAfter returns the number at the end of a name such as cpu12, if the name is
// the prefix and a number that fits an instance ID, written in the only way: no two
// names have the same number.
func NumberAfter(name []byte, prefix string) (uint32, bool) {
	if len(name) <= len(prefix) || string(name[:len(prefix)]) != prefix {
		return 0, false
	}
	digits := name[len(prefix):]
	n, ok := ParseUint32(digits)
	return n, ok && n <= math.MaxInt32 && (digits[0] != '0' || len(digits) == 1)
}
