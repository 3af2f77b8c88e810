package tool

import (
	"bytes"
	"math"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
)

// A Column is the width and the precision with which numbers are printed below each other, as
// pmval(1) prints them.
type Column struct {
	// Width is the least number of bytes; blanks go in front.
	Width int
	// Precision is the number of digits after the decimal point, as of pmval's -f. If it is less
	// than 0, numbers have four significant digits, with an exponent below 0.1 and above 9999, and
	// decimal points are aligned.
	Precision int
}

// TypeWidth is the width of pmval's columns of values of a type, 0 for event arrays, which are not
// printed in columns. ok is false for types that values cannot have.
func TypeWidth(t pdu.Type) (width int, ok bool) {
	switch t {
	case pdu.Type32, pdu.TypeU32:
		return 11, true
	case pdu.TypeFloat:
		return 13, true
	case pdu.Type64, pdu.TypeU64, pdu.TypeDouble, pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return 21, true
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		return 0, true
	}
	return 0, false
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

// RateUnits returns the units in which pmval prints the rate of a counter of units u, and the
// factor by which a rate in u per second is multiplied to have these units. The rate of a counter
// in milliseconds is "time utilization", its factor 0.001; that of a counter in Kbyte is "Kbyte /
// sec", its factor 1.
func RateUnits(u pdu.Units) (text string, factor float64) {
	second := pdu.TimeSec.ScaleTime()
	scale := u.ScaleTime()
	switch {
	case u.DimTime() == 0:
		scale, factor = second, 1
	case scale > second: // minutes, hours
		factor = math.Pow(60, float64(scale-second))
	default:
		factor = math.Pow(1000, float64(scale-second))
	}
	if u.DimSpace() == 0 && u.DimTime() == 1 && u.DimCount() == 0 {
		return "time utilization", factor
	}
	return pdu.MakeUnits(u.DimSpace(), u.DimTime()-1, u.DimCount(), u.ScaleSpace(), scale, u.ScaleCount()).String(), factor
}
