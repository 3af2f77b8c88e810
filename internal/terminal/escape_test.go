package terminal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/terminal"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ text, want, name string }{
		{"", "", ""},
		{"kernel.all.load", "kernel.all.load", "kernel.all.load"},
		{`back\slash "quoted"`, `back\slash "quoted"`, `back\slash "quoted"`},
		{"Zürich 東京 🦆", "Zürich 東京 🦆", "Zürich 東京 🦆"},
		{"two\n\tlines", "two\n\tlines", `two\n\tlines`},
		{"\x1b[31mred\x1b]0;title\a", `\x1b[31mred\x1b]0;title\x07`, `\x1b[31mred\x1b]0;title\x07`},
		{"a\rb\bc\x00d\x7fe\vf", `a\x0db\x08c\x00d\x7fe\x0bf`, `a\x0db\x08c\x00d\x7fe\x0bf`},
		{"C1 in UTF-8 \u009b1m \u0085", `C1 in UTF-8 \u009b1m \u0085`, `C1 in UTF-8 \u009b1m \u0085`},
		{"C1 in a byte \x9b1m", `C1 in a byte \x9b1m`, `C1 in a byte \x9b1m`},
		{"Latin-1 Z\xfcrich \xa0", "Latin-1 Z\xfcrich \xa0", "Latin-1 Z\xfcrich \xa0"},
		{"no-break space \u00a0", "no-break space \u00a0", "no-break space \u00a0"},
		{"half of a character \xc2", "half of a character \xc2", "half of a character \xc2"},
		{"half, then one \xe6\x9d\x1b", `half, then one ` + "\xe6" + `\x9d\x1b`, `half, then one ` + "\xe6" + `\x9d\x1b`},
	} {
		if got := terminal.Escape(tt.text); got != tt.want {
			t.Errorf("Escape(%q) = %q, want %q", tt.text, got, tt.want)
		}
		if got := terminal.EscapeName(tt.text); got != tt.name {
			t.Errorf("EscapeName(%q) = %q, want %q", tt.text, got, tt.name)
		}
		// An EscapeWriter writes the same, however its input is cut.
		for _, cut := range []int{1, 2, 3, 100} {
			var b bytes.Buffer
			w := terminal.NewEscapeWriter(&b)
			for rest := []byte(tt.text + "\n"); len(rest) > 0; {
				n := min(cut, len(rest))
				if m, err := w.Write(rest[:n]); m != n || err != nil {
					t.Fatal(m, err)
				}
				rest = rest[n:]
			}
			if b.String() != tt.want+"\n" {
				t.Errorf("%q in parts of %d is written as %q, want %q", tt.text, cut, b.String(), tt.want+"\n")
			}
		}
	}
}

// TestEscapeWriter: harmless text passes without an allocation, and Write returns the error of the
// underlying writer.
func TestEscapeWriter(t *testing.T) {
	var b bytes.Buffer
	w := terminal.NewEscapeWriter(&b)
	text := []byte(strings.Repeat("disk.dev.read\n    inst [0 or \"Zürich\"] value 17\n", 100))
	b.Grow(1 << 20)
	if n := testing.AllocsPerRun(10, func() { w.Write(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	full := errors.New("disk full")
	if _, err := terminal.NewEscapeWriter(failing{full}).Write(text); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
