// Package scan reads text as the C library does: character classes of ASCII, and numbers as
// strtol(3) and strtod(3) read them.
package scan

import "strings"

// Blanks are the characters that isspace(3) accepts.
const Blanks = " \t\n\v\f\r"

// IsSpace reports whether c is one of Blanks.
func IsSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsHexDigit reports whether c is a hexadecimal digit.
func IsHexDigit(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// IsLetter reports whether c is a letter of ASCII.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsAlnum reports whether c is a letter of ASCII or a decimal digit.
func IsAlnum(c byte) bool { return IsLetter(c) || IsDigit(c) }

// Unescape returns s without the backslashes that escape a character. One at the end stays.
func Unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}
