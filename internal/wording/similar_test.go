package wording

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSimilar(t *testing.T) {
	names := []string{"disk.dev.read", "disk.dev.write", "hinv.ncpu", "hinv.ndisk", "kernel.all.hz", "kernel.all.load", "a", "b"}
	for word, want := range map[string][]string{
		"kernel.all.laod":         {"kernel.all.load"},
		"kernel.all.loads":        {"kernel.all.load"},
		"kernel.all.lod":          {"kernel.all.load"},
		"hinv.ncpus":              {"hinv.ncpu"},
		"disk.dev.raed":           {"disk.dev.read"},
		"":                        nil,
		"mem":                     nil,
		"c":                       {"a", "b"},
		"kernel.percpu.cpu":       nil,
		strings.Repeat("x", 1000): nil,
	} {
		if got := Similar(word, names); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
	many := make([]string, 20)
	for i := range many {
		many[i] = fmt.Sprintf("metric%02d", i)
	}
	if got := Similar("metric0x", many); len(got) != maxSimilar {
		t.Errorf("%d words: %q", len(got), got)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "abcd", 1}, {"abc", "xbc", 1}, {"abc", "cab", 2}, {"abcdef", "uvwxyz", 4}, {"a", "abcdef", 4}} {
		if got := distance(test.a, test.b, 3); got != test.want {
			t.Errorf("%s, %s: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a, 3); got != test.want {
			t.Errorf("%s, %s: %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
