package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseKey reads keys as terminals send them.
func TestParseKey(t *testing.T) {
	tests := map[string][]Key{
		"q":                  {'q'},
		"aé本":                {'a', 'é', '本'},
		"\x03\x1a\x0c":       {KeyInterrupt, KeySuspend, KeyRedraw},
		"\x1b[A\x1b[B":       {KeyUp, KeyDown},
		"\x1bOC\x1bOD":       {KeyRight, KeyLeft},
		"\x1b[5~\x1b[6~":     {KeyPageUp, KeyPageDown},
		"\x1b[H\x1b[1~":      {KeyHome, KeyHome},
		"\x1b[F\x1b[4~":      {KeyEnd, KeyEnd},
		"\x1b":               {KeyEscape},
		"\x1bq":              {KeyEscape, 'q'},
		"\x1b[":              nil,
		"\x1b[15~x":          {'x'}, // a key that nobody needs
		"\x1b[1;5Dy":         {'y'},
		"\xff\xfez":          {'z'},
		"\x1b[1111111111111": nil,
	}
	for sent, want := range tests {
		if diff := cmp.Diff(want, parseAll([]byte(sent))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sent, diff)
		}
	}
}

func parseAll(b []byte) (keys []Key) {
	for len(b) > 0 {
		key, size := parseKey(b)
		if key != 0 {
			keys = append(keys, key)
		}
		b = b[size:]
	}
	return keys
}

// TestParseKeyEnds checks that parsing ends for any bytes.
func TestParseKeyEnds(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			parseAll([]byte{0x1b, '[', byte(a), byte(b), byte(a)})
			parseAll([]byte{byte(a), byte(b)})
		}
	}
}

// TestIsBegun: what may go on waits, what is a key does not.
func TestIsBegun(t *testing.T) {
	for sent, want := range map[string]bool{"\x1b": true, "\x1b[": true, "\x1bO": true, "\x1b[1": true, "\x1b[15;": true, "\x1b[A": false, "\x1bq": false, "q": false,
		"\x1b[5~": false, "\x1b[1111111111111111": false} {
		if got := isBegun([]byte(sent)); got != want {
			t.Errorf("%q: %v, want %v", sent, got, want)
		}
	}
}
