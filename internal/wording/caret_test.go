package wording

import "testing"

func TestCaret(t *testing.T) {
	for _, tt := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "\n^ -- bad"},
		{"10 x", 3, "10 x\n   ^ -- bad"},
		{"a\tb", 2, "a\tb\n \t^ -- bad"},
		{"é1", 2, "é1\né^ -- bad"},
	} {
		if got := Caret(tt.text, tt.offset, "bad"); got != tt.want {
			t.Errorf("%q at %d: %q, want %q", tt.text, tt.offset, got, tt.want)
		}
	}
}
