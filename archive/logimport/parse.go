package logimport

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// parse converts text to a value of type t. The error is always pdu.ErrConv.
func parse(text string, t pdu.Type) (pdu.Atom, error) {
	if t == pdu.TypeString {
		return pdu.String(text), nil
	}
	number := strings.TrimLeft(text, " \t\n\v\f\r")
	var a pdu.Atom
	var err error
	switch t {
	case pdu.Type32, pdu.Type64:
		var n int64
		if n, err = strconv.ParseInt(number, 10, bits(t)); t == pdu.Type32 {
			a = pdu.Int32(int32(n))
		} else {
			a = pdu.Int64(n)
		}
	case pdu.TypeU32, pdu.TypeU64:
		if number = strings.TrimPrefix(number, "+"); strings.HasPrefix(number, "+") {
			return a, pdu.ErrConv
		}
		var n uint64
		if n, err = strconv.ParseUint(number, 10, bits(t)); t == pdu.TypeU32 {
			a = pdu.Uint32(uint32(n))
		} else {
			a = pdu.Uint64(n)
		}
	case pdu.TypeFloat, pdu.TypeDouble:
		var f float64
		if f, err = parseFloat(number, bits(t)); t == pdu.TypeFloat {
			a = pdu.Float32(float32(f))
		} else {
			a = pdu.Float64(f)
		}
	default:
		return a, pdu.ErrConv
	}
	if err != nil {
		return a, pdu.ErrConv
	}
	return a, nil
}

// bits returns the number of bits of a numeric type.
func bits(t pdu.Type) int {
	if t == pdu.Type32 || t == pdu.TypeU32 || t == pdu.TypeFloat {
		return 32
	}
	return 64
}

// parseFloat parses a number like strtod(3), except that it rejects NaNs with a payload.
func parseFloat(s string, bits int) (float64, error) {
	if strings.IndexByte(s, '_') >= 0 { // allowed in Go, not in C
		return 0, strconv.ErrSyntax
	}
	if i := strings.IndexAny(s, "xX"); i >= 0 && !strings.ContainsAny(s, "pP") { // Go requires an exponent
		s += "p0"
	}
	return strconv.ParseFloat(s, bits)
}
