package main

import (
	"bytes"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
)

// A style says how numbers look.
type style struct {
	width  int // of a column; 0 for that of the type
	digits int // behind the point; less than 0 for as many as the size allows
}

// typeWidth is the width of a column of values of a type. It reports false for what has none.
func typeWidth(t pdu.Type) (width int, ok bool) {
	switch t {
	case pdu.Type32, pdu.TypeU32:
		return 11, true
	case pdu.TypeFloat:
		return 13, true
	case pdu.Type64, pdu.TypeU64, pdu.TypeDouble, pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return 21, true
	case pdu.TypeEvent, pdu.TypeHighResEvent: // not in columns
		return 0, true
	}
	return 0, false
}

// margin is what a number may have behind its digits, so that points stand below each other.
const margin = 3

// append appends a number in a field of a width, four digits of it or an exponent unless the digits are given. That of
// 0, which is exact, has but one.
func (s style) append(b []byte, v float64, width int) []byte {
	start := len(b)
	if s.digits >= 0 {
		return cnum.Pad(cnum.AppendF(b, v, s.digits), start, width)
	}
	if v != 0 && (v < 0.1 || v > 9999) {
		b = cnum.AppendE(b, v, 3)
		copy(b[start:], bytes.ToUpper(b[start:]))
		return cnum.Pad(b, start, width)
	}
	digits, behind := 0, ".    "
	switch {
	case v == 0:
		behind = ".0   "
	case v <= 0.9999:
		digits, behind = 4, ""
	case v <= 9.999:
		digits, behind = 3, " "
	case v <= 99.99:
		digits, behind = 2, "  "
	case v <= 999.9:
		digits, behind = 1, "   "
	}
	return append(cnum.Pad(cnum.AppendF(b, v, digits), start, width-len(behind)), behind...)
}
