package pmval

import (
	"bytes"

	"github.com/pcp-go/pcp/internal/cnum"
)

// A Column formats numbers in a column, as pmval(1) prints them.
type Column struct {
	// Width is the least number of bytes; blanks go in front.
	Width int
	// Precision is the number of digits after the decimal point, as of pmval's -f. If it is less
	// than 0, numbers have four significant digits, with an exponent below 0.1 and above 9999, and
	// decimal points are aligned.
	Precision int
}

// AppendText appends a text to b, at the right of the column. pmval prints "?" for a value that is
// missing and "!" for a counter that has gone back.
func (c Column) AppendText(b []byte, text string) []byte {
	return cnum.Pad(append(b, text...), len(b), c.Width)
}

// AppendFloat appends a number to b.
func (c Column) AppendFloat(b []byte, v float64) []byte {
	start := len(b)
	if c.Precision >= 0 {
		return cnum.Pad(cnum.AppendF(b, v, c.Precision), start, c.Width)
	}
	if v != 0 && (v < 0.1 || v > 9999) {
		b = cnum.AppendE(b, v, 3)
		copy(b[start:], bytes.ToUpper(b[start:]))
		return cnum.Pad(b, start, c.Width)
	}
	digits, tail := 0, ".    "
	switch {
	case v == 0: // exactly, and so has one digit only
		tail = ".0   "
	case v <= 0.9999:
		digits, tail = 4, ""
	case v <= 9.999:
		digits, tail = 3, " "
	case v <= 99.99:
		digits, tail = 2, "  "
	case v <= 999.9:
		digits, tail = 1, "   "
	}
	return append(cnum.Pad(cnum.AppendF(b, v, digits), start, c.Width-len(tail)), tail...)
}
