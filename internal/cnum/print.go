// Package cnum prints numbers as C does where Go differs: the conversions %e, %f and %g of
// printf(3) with their "inf" and "nan", and fields of a width.
package cnum

import (
	"math"
	"strconv"
)

// AppendE appends v as "%.*e" prints it in C, with prec digits after the point.
func AppendE(b []byte, v float64, prec int) []byte { return appendFloat(b, v, 'e', prec) }

// AppendF appends v as "%.*f" prints it in C, with prec digits after the point.
func AppendF(b []byte, v float64, prec int) []byte { return appendFloat(b, v, 'f', prec) }

// AppendG appends v as "%.*g" prints it in C, with 1 to prec digits.
func AppendG(b []byte, v float64, prec int) []byte { return appendFloat(b, v, 'g', prec) }

func appendFloat(b []byte, v float64, verb byte, prec int) []byte {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(b, v, verb, prec, 64)
	}
	if math.Signbit(v) {
		b = append(b, '-')
	}
	if math.IsNaN(v) {
		return append(b, "nan"...)
	}
	return append(b, "inf"...)
}

// Pad pads the text from start on to at least width bytes, as "%*s" does in C:
// with blanks before it, or behind it if width is less than 0.
func Pad(b []byte, start, width int) []byte {
	end := len(b)
	for range max(width, -width) - (end - start) {
		b = append(b, ' ')
	}
	if n := len(b) - end; n > 0 && width > 0 {
		copy(b[start+n:], b[start:end])
		for i := start; i < start+n; i++ {
			b[i] = ' '
		}
	}
	return b
}
