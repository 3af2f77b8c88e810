package pdu

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// ParseAtom is the value of type t that a text stands for, in the syntax of
// pmstore's argument. Integers are decimal or, after "0x", hexadecimal; blanks
// and a sign may go before them. An unsigned integer with a minus sign is its
// complement in 64 bits, as of strtoul(3): "-1" is the greatest TypeU64. Floats
// and doubles are what strtod(3) takes, except hexadecimal integers. An empty
// text is 0. A string is the whole text, and a value of TypeString is also what
// is stored into a metric of TypeEvent or TypeHighResEvent.
//
// Errors are ErrConv for a text that is no value of the type and for types other
// than those, and ErrTrunc for a number out of the type's range.
// Numbers so small that they lose digits are out of the range of floats and
// doubles. It is __pmStringValue of the C library, where 0 is out of the range
// of floats too.
func ParseAtom(text string, t Type) (Atom, error) {
	switch t {
	case Type32:
		v, err := parseInt(text, math.MinInt32, math.MaxInt32)
		return parsed(Int32(int32(v)), err)
	case Type64:
		v, err := parseInt(text, math.MinInt64, math.MaxInt64)
		return parsed(Int64(v), err)
	case TypeU32:
		v, err := parseUint(text, math.MaxUint32)
		return parsed(Uint32(uint32(v)), err)
	case TypeU64:
		v, err := parseUint(text, math.MaxUint64)
		return parsed(Uint64(v), err)
	case TypeFloat:
		v, err := parseFloat(text)
		if size := math.Abs(v); err == nil && (size > math.MaxFloat32 || v != 0 && size < minNormalFloat32) {
			err = ErrTrunc
		}
		return parsed(Float32(float32(v)), err)
	case TypeDouble:
		v, err := parseFloat(text)
		return parsed(Float64(v), err)
	case TypeString, TypeEvent, TypeHighResEvent:
		return String(text), nil
	}
	return Atom{}, ErrConv
}

// parsed is a, or the zero Atom if there is an error.
func parsed(a Atom, err error) (Atom, error) {
	if err != nil {
		return Atom{}, err
	}
	return a, nil
}

// minNormalFloat32 is FLT_MIN.
const minNormalFloat32 = 0x1p-126

// parseInteger splits an integer into its sign and its size as a number of 64
// bits.
func parseInteger(text string) (negative bool, size uint64, err error) {
	if text == "" {
		return false, 0, nil
	}
	digits, base := strings.TrimLeft(text, scan.Blanks), 10
	negative = strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	if isHexInteger(digits) {
		digits, base = digits[2:], 16
	}
	size, err = strconv.ParseUint(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		err = ErrTrunc
	case err != nil:
		err = ErrConv
	}
	return negative, size, err
}

// isHexInteger reports whether a number without sign is "0x" and hexadecimal
// digits.
func isHexInteger(text string) bool {
	return len(text) > 2 && strings.EqualFold(text[:2], "0x") && strings.Trim(text[2:], "0123456789abcdefABCDEF") == ""
}

func parseInt(text string, least, greatest int64) (int64, error) {
	negative, size, err := parseInteger(text)
	limit := uint64(greatest)
	if negative {
		limit = -uint64(least)
	}
	if err == nil && size > limit {
		err = ErrTrunc
	}
	if negative {
		size = -size
	}
	return int64(size), err
}

func parseUint(text string, greatest uint64) (uint64, error) {
	negative, size, err := parseInteger(text)
	if negative {
		size = -size
	}
	if err == nil && size > greatest {
		err = ErrTrunc
	}
	return size, err
}

func parseFloat(text string) (float64, error) {
	v, n, err := scan.Float(text)
	switch {
	case n < len(text), isHexInteger(strings.TrimLeft(text, scan.Blanks+"+-")):
		return 0, ErrConv
	case err != nil:
		return 0, ErrTrunc
	}
	return v, nil
}
