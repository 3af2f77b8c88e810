package pdu

import (
	"math"

	"github.com/pcp-go/pcp/internal/cnum"
)

// FormatNumber formats v in 7 characters, for columns: two decimals and a blank or one of K, M, G
// and T for powers of 1000, such as "  1.00K" and "-99.99 ". A number that is too great is " inf?
// " or "-inf?  "; NaN is "  0.00 ". The counterpart of pmNumberStr(3).
func FormatNumber(v float64) string {
	var buf [8]byte
	return string(appendNumber(buf[:0], v))
}

// numberScales are the suffixes, each for numbers above below and below above,
// which are divided by div. A number on a limit would round to a digit too many,
// 1000.00 or -100.00.
var numberScales = [...]struct {
	above, below, div float64
	suffix            byte
}{
	{999.995, -99.995, 1, ' '},
	{999995, -99995, 1e3, 'K'},
	{999995e3, -99995e3, 1e6, 'M'},
	{999995e6, -99995e6, 1e9, 'G'},
	{999995e9, -99995e9, 1e12, 'T'},
}

// appendNumber appends FormatNumber to b.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || v > -0.005 && v < 0.005 {
		return append(b, "  0.00 "...) // never -0.00
	}
	for _, s := range numberScales {
		if v < s.above && v > s.below {
			start := len(b)
			b = cnum.Pad(cnum.AppendF(b, v/s.div, 2), start, 6)
			return append(b, s.suffix)
		}
	}
	if v < 0 {
		return append(b, "-inf?  "...)
	}
	return append(b, " inf?  "...)
}
