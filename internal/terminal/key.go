package terminal

import (
	"bytes"
	"unicode/utf8"
)

// A Key is a character, or one of the constants for a key that makes none.
type Key rune

// Keys that make no character. Ctrl and a letter is the letter's control character.
const (
	KeyUp Key = -1 - iota
	KeyDown
	KeyLeft
	KeyRight
	KeyPageUp
	KeyPageDown
	KeyHome
	KeyEnd

	KeyInterrupt Key = 'C' & 0x1f // Ctrl-C
	KeySuspend   Key = 'Z' & 0x1f // Ctrl-Z
	KeyRedraw    Key = 'L' & 0x1f // Ctrl-L
	KeyEscape    Key = 0x1b
)

// sequences are what terminals send after ESC [ or ESC O for keys.
var sequences = map[string]Key{
	"A": KeyUp, "B": KeyDown, "C": KeyRight, "D": KeyLeft, "H": KeyHome, "F": KeyEnd,
	"1~": KeyHome, "7~": KeyHome, "4~": KeyEnd, "8~": KeyEnd, "5~": KeyPageUp, "6~": KeyPageDown,
}

// longestSequence is the maximum length of a key's sequence; a longer sequence is not a key.
const longestSequence = 16

// isBegun reports whether b may be the beginning of what a terminal sends for a key: ESC alone, or
// an unfinished sequence.
func isBegun(b []byte) bool {
	if b[0] != 0x1b || len(b) >= longestSequence {
		return false
	}
	if len(b) == 1 {
		return true
	}
	return (b[1] == '[' || b[1] == 'O') && bytes.IndexFunc(b[2:], func(r rune) bool { return r >= '@' && r <= '~' }) < 0
}

// parseKey returns the key at the start of a terminal's input, and its length in bytes; 0 for an
// unknown key. Terminals send a key at once, so an ESC without more bytes is the Escape key.
func parseKey(b []byte) (key Key, size int) {
	if b[0] != 0x1b {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError {
			return 0, n
		}
		return Key(r), n
	}
	if len(b) == 1 || b[1] != '[' && b[1] != 'O' {
		return KeyEscape, 1
	}
	for i, c := range b[2:min(len(b), longestSequence)] {
		if c >= '@' && c <= '~' { // the last byte
			return sequences[string(b[2:2+i+1])], 2 + i + 1
		}
	}
	return 0, min(len(b), longestSequence)
}
