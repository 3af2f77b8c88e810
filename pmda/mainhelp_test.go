package pmda

import (
	"strings"
	"testing"
)

// FuzzHelp reads help texts from outside: no panic, no more memory than the
// input, and what is found is part of it.
func FuzzHelp(f *testing.F) {
	f.Add("@ cache.hits one line\nhelp\n\nmore\n@ 253.0 indom\ntext\n# comment\n@ 1.2.3 \n")
	f.Add("text before\n@\n@ \n@ nosuch x\n@ 999.1.1 y\n@ 1.2.3.4 z")
	a := &Agent{Name: "cache", Domain: 253}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := a.parseHelp(strings.NewReader(text), "help")
		if err != nil {
			return
		}
		size := 0
		for _, h := range found {
			if !strings.Contains(text, h.line) {
				t.Errorf("one-line text %q is not in the input", h.line)
			}
			size += len(h.line) + len(h.help)
		}
		if size > len(text)+len(found) {
			t.Errorf("%d bytes of texts from %d bytes", size, len(text))
		}
	})
}
