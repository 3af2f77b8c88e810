package tool

import (
	"math"
	"testing"
)

func TestNumber(t *testing.T) {
	for text, want := range map[string]int{"": 0, "12": 12, " \t+12": 12, "-3": -3, "007": 7, "99999999999999999999": math.MaxInt} {
		n := 1
		if err := Number(&n, -3, "bad")(text); err != nil || n != want {
			t.Errorf("Number(%q): got %d, %v, want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"-4", " ", "-", "1x", "1 "} {
		n := 1
		if err := Number(&n, -3, "bad")(text); err == nil || err.Error() != "bad" || n != 1 {
			t.Errorf("Number(%q): got %d, %v, want an error", text, n, err)
		}
	}
}
