// Package expvars reads the variables of package expvar as metrics of PCP need it: names, and texts
// by code of the program that may panic or hang.
package expvars

import (
	"cmp"
	"strings"
	"unicode"
)

// Printable is a key as the name of an instance: "_" stands for spaces and what cannot be printed.
func Printable(key string) string {
	s := strings.Map(func(r rune) rune {
		if r == ' ' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, key)
	return cmp.Or(s, "_")
}

// Component is a key as a component of a name: "_" stands for all but letters, digits and "_", and
// there is an "x" before it if it does not begin with a letter.
func Component(key string) string {
	s := strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' && r < 0x80 || '0' <= r && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, key)
	if s == "" || s[0] == '_' || s[0] <= '9' {
		s = "x" + s
	}
	return s
}
