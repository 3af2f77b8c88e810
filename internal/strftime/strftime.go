// Package strftime formats times as strftime(3) of the GNU C library does in the C locale.
package strftime

import (
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
)

// Append appends a time in a format, whose conversions are
//
//	%[flags][width][E|O]conversion
//
// with the flags "_" (blanks), "-" (no padding), "0" (zeros), "^" (capitals) and "#" (other case).
// A conversion that does not exist stands for itself. Widths are at most MaxWidth.
func Append(b []byte, format string, t time.Time) []byte {
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			return append(b, format...)
		}
		b = append(b, format[:i]...)
		d, n := parseDirective(format[i:])
		b = d.append(b, t)
		format = format[i+n:]
	}
}

// MaxWidth is the greatest width of a conversion.
const MaxWidth = 1 << 16

// A directive is a conversion with its flags.
type directive struct {
	text       string // as in the format
	pad        byte   // '_', '-' or '0'; 0 for the conversion's own
	upper      bool
	otherCase  bool
	width      int
	modifier   byte // 'E' or 'O'; 0 for none
	conversion byte // 0 at the end of the format
}

// parseDirective parses the directive that a text begins with, and returns its length.
func parseDirective(text string) (d directive, n int) {
	n = 1
	for ; n < len(text) && strings.IndexByte("_-0^#", text[n]) >= 0; n++ {
		switch c := text[n]; c {
		case '^':
			d.upper = true
		case '#':
			d.otherCase = true
		default:
			d.pad = c
		}
	}
	for ; n < len(text) && scan.IsDigit(text[n]); n++ {
		d.width = min(MaxWidth, d.width*10+int(text[n]-'0'))
	}
	if n < len(text) && (text[n] == 'E' || text[n] == 'O') {
		d.modifier = text[n]
		n++
	}
	if n < len(text) {
		d.conversion = text[n]
		n++
	}
	d.text = text[:n]
	return d, n
}

// composed are conversions that stand for a format.
var composed = map[byte]string{'c': "%a %b %e %H:%M:%S %Y", 'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'r': "%I:%M:%S %p", 'R': "%H:%M", 'T': "%H:%M:%S",
	'x': "%m/%d/%y", 'X': "%H:%M:%S"}

func (d directive) append(b []byte, t time.Time) []byte {
	if !d.modifierAllowed() {
		return d.appendText(b, d.text)
	}
	if format, ok := composed[d.conversion]; ok {
		return d.appendText(b, string(Append(nil, format, t)))
	}
	if text, ok := d.name(t); ok {
		return d.appendText(b, text)
	}
	if v, digits, pad, ok := d.number(t); ok {
		return d.appendNumber(b, v, digits, pad)
	}
	if d.conversion == 'z' {
		_, offset := t.Zone()
		sign := "+"
		if offset < 0 {
			sign, offset = "-", -offset
		}
		return d.appendNumber(d.appendText(b, sign), offset/3600*100+offset/60%60, 4, '0')
	}
	return d.appendText(b, d.text)
}

// modifierAllowed reports whether the conversion may have the modifier.
func (d directive) modifierAllowed() bool {
	switch c := d.conversion; {
	case d.modifier == 0 || strings.IndexByte("CyntpPsuRrTzZ%", c) >= 0:
		return true
	case strings.IndexByte("cxXY", c) >= 0:
		return d.modifier == 'E'
	}
	return d.modifier == 'O' && strings.IndexByte("bhBdeHIklmMSjUVgGWw", d.conversion) >= 0
}

// name is the text of a conversion that gives one.
func (d directive) name(t time.Time) (string, bool) {
	text := ""
	switch d.conversion {
	case 'a':
		text = t.Format("Mon")
	case 'A':
		text = t.Format("Monday")
	case 'b', 'h':
		text = t.Format("Jan")
	case 'B':
		text = t.Format("January")
	case 'p':
		if text = t.Format("PM"); d.otherCase {
			text = strings.ToLower(text)
		}
		return text, true
	case 'P':
		return t.Format("pm"), true
	case 'Z':
		if text, _ = t.Zone(); d.otherCase {
			text = strings.ToLower(text)
		}
		return text, true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	default:
		return "", false
	}
	if d.otherCase {
		text = strings.ToUpper(text)
	}
	return text, true
}

// number is the value of a conversion that gives one, the digits that it has at least, and with
// what it is padded.
func (d directive) number(t time.Time) (v, digits int, pad byte, ok bool) {
	weekday, yday := int(t.Weekday()), t.YearDay()-1
	isoYear, isoWeek := t.ISOWeek()
	digits, pad = 2, '0'
	switch d.conversion {
	case 'C':
		v, digits = floorDiv(t.Year(), 100), 1
	case 'd':
		v = t.Day()
	case 'e':
		v, pad = t.Day(), '_'
	case 'g':
		v = isoYear - 100*floorDiv(isoYear, 100)
	case 'G':
		v, digits = isoYear, 1
	case 'H':
		v = t.Hour()
	case 'I':
		v = (t.Hour()+11)%12 + 1
	case 'j':
		v, digits = yday+1, 3
	case 'k':
		v, pad = t.Hour(), '_'
	case 'l':
		v, pad = (t.Hour()+11)%12+1, '_'
	case 'm':
		v = int(t.Month())
	case 'M':
		v = t.Minute()
	case 'S':
		v = t.Second()
	case 'u':
		v, digits = (weekday+6)%7+1, 1
	case 'U':
		v = (yday + 7 - weekday) / 7
	case 'V':
		v = isoWeek
	case 'w':
		v, digits = weekday, 1
	case 'W':
		v = (yday + 7 - (weekday+6)%7) / 7
	case 'y':
		v = t.Year() - 100*floorDiv(t.Year(), 100)
	case 'Y':
		v, digits = t.Year(), 1
	default:
		return 0, 0, 0, false
	}
	return v, digits, pad, true
}

// floorDiv divides and rounds down.
func floorDiv(a, b int) int {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// appendNumber appends a number with so many digits at least.
func (d directive) appendNumber(b []byte, v, digits int, pad byte) []byte {
	text := strconv.Itoa(max(v, -v))
	if d.pad != 0 {
		pad = d.pad
	}
	sign := ""
	if v < 0 {
		sign = "-"
	}
	if pad != '-' {
		fill := strings.Repeat(map[byte]string{'0': "0", '_': " "}[pad], max(0, max(digits, d.width)-len(sign)-len(text)))
		if pad == '_' {
			return append(append(append(b, fill...), sign...), text...)
		}
		return append(append(append(b, sign...), fill...), text...)
	}
	return d.appendText(b, sign+text)
}

// appendText appends a text, padded on its left to the width.
func (d directive) appendText(b []byte, text string) []byte {
	fill := byte(' ')
	if d.pad == '0' {
		fill = '0'
	}
	for range d.width - len(text) {
		b = append(b, fill)
	}
	lower := d.conversion == 'P' || d.otherCase && (d.conversion == 'p' || d.conversion == 'Z')
	if d.upper && !lower {
		text = strings.ToUpper(text)
	}
	return append(b, text...)
}
