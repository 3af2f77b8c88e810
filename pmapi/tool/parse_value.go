package tool

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
)

// The errors of ParseValue. PCP's tools have sentences of their own for them.
var (
	ErrIncompatible = errors.New("no value of the type")
	ErrRange        = errors.New("out of the type's range")
)

// ParseValue parses a value of a type as pmstore(1) and pmval's -x take it from the command line. Integers are decimal, or
// hexadecimal after "0x"; an empty text is 0. Unsigned integers may have a minus sign, as for strtoul(3): -1 is the
// greatest number of 64 bits. Floating point numbers are those of strtod(3), but for hexadecimal integers. Any text is a
// string. Errors: ErrRange, and ErrIncompatible for texts that are no such number and for all other types.
//
// In PCP's tools 0 is out of the range of a float; here it is not.
func ParseValue(text string, t pdu.Type) (pdu.Atom, error) {
	switch t {
	case pdu.Type32:
		v, err := parseInt(text, math.MinInt32, math.MaxInt32)
		return pdu.Int32(int32(v)), err
	case pdu.Type64:
		v, err := parseInt(text, math.MinInt64, math.MaxInt64)
		return pdu.Int64(v), err
	case pdu.TypeU32:
		v, err := parseUint(text, math.MaxUint32)
		return pdu.Uint32(uint32(v)), err
	case pdu.TypeU64:
		v, err := parseUint(text, math.MaxUint64)
		return pdu.Uint64(v), err
	case pdu.TypeFloat:
		v, err := parseFloat(text)
		if size := math.Abs(v); size > math.MaxFloat32 || v != 0 && size < minNormalFloat32 {
			err = ErrRange
		}
		return pdu.Float32(float32(v)), err
	case pdu.TypeDouble:
		v, err := parseFloat(text)
		return pdu.Float64(v), err
	case pdu.TypeString:
		return pdu.String(text), nil
	}
	return pdu.Atom{}, ErrIncompatible
}

// minNormalFloat32 is FLT_MIN.
const minNormalFloat32 = 0x1p-126

var integer = regexp.MustCompile(`^[ \t\n\v\f\r]*([-+]?)(0[xX][0-9a-fA-F]+|[0-9]+)$`)

// parseDigits parses an integer into its sign and its absolute value.
func parseDigits(text string) (negative bool, size uint64, err error) {
	if text == "" {
		return false, 0, nil
	}
	m := integer.FindStringSubmatch(text)
	if m == nil {
		return false, 0, ErrIncompatible
	}
	digits, base := m[2], 10
	if len(digits) > 2 && digits[1]|0x20 == 'x' {
		digits, base = digits[2:], 16
	}
	if size, err = strconv.ParseUint(digits, base, 64); err != nil {
		err = ErrRange
	}
	return m[1] == "-", size, err
}

func parseInt(text string, least, most int64) (int64, error) {
	negative, size, err := parseDigits(text)
	limit := uint64(most)
	if negative {
		limit = -uint64(least)
	}
	if err == nil && size > limit {
		err = ErrRange
	}
	if negative {
		size = -size
	}
	return int64(size), err
}

func parseUint(text string, most uint64) (uint64, error) {
	negative, size, err := parseDigits(text)
	if negative {
		size = -size
	}
	if err == nil && size > most {
		err = ErrRange
	}
	return size, err
}

// parseFloat parses what strtod(3) accepts, but for hexadecimal integers.
func parseFloat(text string) (float64, error) {
	v, n, err := cnum.Scan(text)
	switch {
	case n < len(text), integer.MatchString(text) && strings.ContainsAny(text, "xX"):
		return 0, ErrIncompatible
	case err != nil:
		return 0, ErrRange
	}
	return v, nil
}
