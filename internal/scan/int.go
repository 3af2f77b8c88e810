package scan

import (
	"math"
	"strings"
)

// Int parses the decimal number at the beginning of s as strtol(3) does: blanks, a
// sign, and digits. It returns the number and what follows it. A number that is out of
// range becomes the nearest one. ok is false if there are no digits.
func Int(s string) (n int64, rest string, ok bool) {
	digits := strings.TrimLeft(s, Blanks)
	negative := strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	end, overflow := 0, false
	for ; end < len(digits) && IsDigit(digits[end]); end++ {
		d := int64(digits[end] - '0')
		overflow = overflow || n < (math.MinInt64+d)/10
		n = 10*n - d // negative, since there is one more of these
	}
	switch {
	case end == 0:
		return 0, s, false
	case overflow && negative:
		n = math.MinInt64
	case overflow || !negative && n == math.MinInt64:
		n = math.MaxInt64
	case !negative:
		n = -n
	}
	return n, digits[end:], true
}

// WholeInt parses a number with nothing behind it, in the way that C tools check an option with
// strtol(3). An empty text is 0. ok is false for any other text.
func WholeInt(s string) (n int64, ok bool) {
	n, rest, digits := Int(s)
	return n, rest == "" && (digits || s == "")
}
