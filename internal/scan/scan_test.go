package scan_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/pcp-go/pcp/internal/scan"
)

func TestClasses(t *testing.T) {
	for i := range 256 {
		c, ascii := byte(i), i < 128
		letter, digit := ascii && unicode.IsLetter(rune(i)), ascii && unicode.IsDigit(rune(i))
		for name, got := range map[string][2]bool{
			"IsSpace":    {scan.IsSpace(c), strings.IndexByte(scan.Blanks, c) >= 0},
			"IsDigit":    {scan.IsDigit(c), digit},
			"IsHexDigit": {scan.IsHexDigit(c), strings.IndexByte("0123456789abcdefABCDEF", c) >= 0},
			"IsLetter":   {scan.IsLetter(c), letter},
			"IsAlnum":    {scan.IsAlnum(c), letter || digit},
		} {
			if got[0] != got[1] {
				t.Errorf("%s(%#x) = %t, want %t", name, c, got[0], got[1])
			}
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "abc": "abc", `\`: `\`, `a\`: `a\`, `\\`: `\`, `\a`: "a", `a\"b\\n`: `a"b\n`, `\\\\\`: `\\\`,
	} {
		if got := scan.Unescape(in); got != want {
			t.Errorf("Unescape(%q) = %q, want %q", in, got, want)
		}
	}
}
