package pattern

import (
	"errors"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, text string
		large      bool
	}{
		{"word", `^sd[a-z]+$`, false},
		{"names", strings.Repeat("process|", 500) + "x", false},
		{"repetition", `(a?){1000}`, false},
		{"empty", ``, false},
		{"long", strings.Repeat("a", MaxText+1), true},
		{"repetitions", strings.Repeat("(a?){1000}", 3), true},
		{"nested", `((abcde?){30}){30}`, true},
		{"open", `(a{30,}b{30,}c{30,}d{30,}e{30,}){30}`, true},
		{"ranges", strings.Repeat(`[^a]{500}[^é-ü]{500}`, 5), true},
		{"scripts", strings.Repeat(`\pL`, 100), true},
	} {
		for kind, compile := range map[string]func(string) error{
			"Perl":  func(text string) error { _, err := Compile(text); return err },
			"POSIX": func(text string) error { _, err := CompilePOSIX(text); return err },
		} {
			if kind == "POSIX" && c.name == "scripts" {
				continue
			}
			if err := compile(c.text); errors.Is(err, ErrTooLarge) != c.large || !c.large && err != nil {
				t.Errorf("%s, %s: %v", c.name, kind, err)
			}
		}
	}
	if _, err := Compile("("); err == nil || errors.Is(err, ErrTooLarge) {
		t.Errorf("an unmatched parenthesis: %v", err)
	}
}

// TestSize compares Size with the programs of package syntax.
func TestSize(t *testing.T) {
	for _, text := range []string{`a`, `abc`, `a|b|cd`, `(a?){100}`, `(a{3,}|b){7}`, `[a-z]+\d*x{2,5}`, `((ab){10}c){10}`, `(a*){1,50}`, `^(a|b)?$`} {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		size := Size(re)
		p, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Inst); n > 2*size+2 {
			t.Errorf("%s: %d instructions, Size %d", text, n, size)
		}
	}
}

// TestRefusedCheaply checks that a refused expression takes memory in proportion to its text.
func TestRefusedCheaply(t *testing.T) {
	text := strings.Repeat("a{1000}b{1000}", 3<<10/14)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := CompilePOSIX(text); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes for a text of %d", n, len(text))
	}
}
