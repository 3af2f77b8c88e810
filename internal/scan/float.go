package scan

import (
	"math/big"
	"strconv"
	"strings"
)

// Float parses the longest prefix of s that strtod(3) accepts: blanks, a sign, and a decimal or
// hexadecimal number, an infinity or a NaN. It returns the number and the length of the prefix, 0
// without a number. The error is strconv.ErrRange where strtod sets ERANGE: v is then an infinity,
// zero, or a number that lost digits near zero.
func Float(s string) (v float64, n int, err error) {
	i := len(s) - len(strings.TrimLeft(s, Blanks))
	start := i
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	text := prefix(s[i:])
	if text == "" {
		return 0, 0, nil
	}
	n = i + len(text)
	v, err = value(text)
	if s[start] == '-' {
		v = -v
	}
	return v, n, err
}

// value is the number of a text that prefix gave.
func value(text string) (float64, error) {
	if i := strings.IndexByte(text, '('); i >= 0 {
		text = text[:i] // the payload of a NaN
	}
	hex := isHex(text)
	if hex && !strings.ContainsAny(text, "pP") {
		text += "p0"
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return v, strconv.ErrRange // the syntax is sound
	}
	// A result below the normal range is out of it unless it is exact, which of
	// the decimal texts only zeroes are.
	if v < 0x1p-1022 && (v != 0 || nonzero(text)) && !(hex && v != 0 && exact(text, v)) {
		return v, strconv.ErrRange
	}
	return v, nil
}

// exact reports whether a hexadecimal number is v to the last digit.
func exact(text string, v float64) bool {
	f, _, err := big.ParseFloat(text, 0, uint(4*len(text)), big.ToNearestEven)
	return err == nil && f.Cmp(big.NewFloat(v)) == 0
}

func isHex(text string) bool { return len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x' }

// nonzero reports whether a number without sign has a digit other than 0 in
// its mantissa.
func nonzero(text string) bool {
	exp, digits := "eE", "123456789"
	if isHex(text) {
		text, exp, digits = text[2:], "pP", "123456789abcdefABCDEF"
	}
	if i := strings.IndexAny(text, exp); i >= 0 {
		text = text[:i]
	}
	return strings.ContainsAny(text, digits)
}

// prefix returns the longest beginning of s that is a number without sign, or "".
func prefix(s string) string {
	for _, name := range [...]string{"infinity", "inf"} {
		if hasWord(s, name) {
			return s[:len(name)]
		}
	}
	if hasWord(s, "nan") {
		return s[:3+nanPayload(s[3:])]
	}
	if isHex(s) {
		if n := mantissa(s[2:], IsHexDigit); n > 0 {
			n += 2
			return s[:n+exponent(s[n:], 'p')]
		}
	}
	n := mantissa(s, IsDigit)
	if n == 0 {
		return ""
	}
	return s[:n+exponent(s[n:], 'e')]
}

// hasWord reports whether s starts with a word of lower-case letters, in any
// case.
func hasWord(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

// mantissa is the length of the digits with at most one point at the start of
// s, 0 if there is no digit.
func mantissa(s string, digit func(byte) bool) int {
	n, digits, point := 0, 0, false
	for ; n < len(s); n++ {
		if digit(s[n]) {
			digits++
		} else if s[n] == '.' && !point {
			point = true
		} else {
			break
		}
	}
	if digits == 0 {
		return 0
	}
	return n
}

// exponent is the length of a complete exponent at the start of s.
func exponent(s string, mark byte) int {
	if s == "" || s[0]|0x20 != mark {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	start := n
	for n < len(s) && IsDigit(s[n]) {
		n++
	}
	if n == start {
		return 0
	}
	return n
}

// nanPayload is the length of a bracketed word at the start of s.
func nanPayload(s string) int {
	if s == "" || s[0] != '(' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		if s[i] == ')' {
			return i + 1
		}
		if !IsAlnum(s[i]) && s[i] != '_' {
			break
		}
	}
	return 0
}
