package tool

import "testing"

func TestParseInteger(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "12": 12, " \t+12": 12, "-3": -3, "007": 7, "99999999999999999999": 1<<63 - 1} {
		if got, ok := parseInteger(text); got != want || !ok {
			t.Errorf("parseInteger(%q): got %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{" ", "-", "1x", "0x1", "1 ", "1_000", "1.0"} {
		if got, ok := parseInteger(text); ok {
			t.Errorf("parseInteger(%q): got %d, want none", text, got)
		}
	}
}
