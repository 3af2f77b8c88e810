package pcptool

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitInstances(t *testing.T) {
	for list, want := range map[string]string{
		"":                 "",
		" ,\t":             "",
		"a":                "a",
		"a,b":              "a|b",
		" a ,, b\tc,":      "a|b|c",
		`"a b",'c,d' e`:    "a b|c,d|e",
		`"a`:               "a",
		`a"`:               `a"`,
		`a"b c"`:           `a"b|c"`,
		`"a"b,c`:           "a|c",
		`"it's" 'say "x"'`: `it's|say "x"`,
		`a\,b`:             `a\|b`,
	} {
		if got := strings.Join(SplitInstances(list), "|"); got != want {
			t.Errorf("%q: got %s, want %s", list, got, want)
		}
	}
	if got := SplitInstances(`"" a ""`); !slices.Equal(got, []string{"", "a", ""}) {
		t.Errorf("empty names: %q", got)
	}
}
