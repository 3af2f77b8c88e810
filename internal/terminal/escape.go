package terminal

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// An EscapeWriter passes text on with its control characters escaped, except for newlines and tabs:
// ESC becomes \x1b. Text from a collector can then not control the terminal that shows it. All
// other text stays as it is, in UTF-8 or in any other encoding with ASCII. Names stand within
// lines, so EscapeName escapes newlines and tabs, too.
//
// Write keeps its last bytes for the next call if they begin a character in UTF-8. So text must end
// with a newline. One goroutine at a time may use an EscapeWriter.
type EscapeWriter struct {
	w    io.Writer
	kept []byte // the beginning of a character
	buf  []byte
}

// NewEscapeWriter returns an EscapeWriter that passes text on to w.
func NewEscapeWriter(w io.Writer) *EscapeWriter { return &EscapeWriter{w: w} }

// Write writes text. It returns the error of the writer below.
func (e *EscapeWriter) Write(text []byte) (int, error) {
	n := len(text)
	if len(e.kept) > 0 {
		text = append(e.kept, text...)
		e.kept = nil
	}
	if rest := incomplete(text); rest > 0 {
		e.kept = append(e.kept, text[len(text)-rest:]...)
		text = text[:len(text)-rest]
	}
	if at := control(text, false); at >= 0 {
		e.buf = appendEscaped(append(e.buf[:0], text[:at]...), text[at:], false)
		text = e.buf
	}
	if _, err := e.w.Write(text); err != nil {
		return 0, err
	}
	return n, nil
}

// incomplete is how many bytes at the end of text are the beginning of a character whose other
// bytes are missing.
func incomplete(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Escape returns a text as an EscapeWriter writes it: with its control characters escaped, except
// for newlines and tabs.
func Escape(text string) string { return escape(text, false) }

// EscapeName returns the name of a metric or of an instance for printing: with all control
// characters escaped, so that it stays on its line. A newline becomes \n, ESC \x1b. Other names
// stay as they are.
func EscapeName(name string) string { return escape(name, true) }

func escape(text string, name bool) string {
	at := control(text, name)
	if at < 0 {
		return text
	}
	return string(appendEscaped([]byte(text[:at]), []byte(text[at:]), name))
}

// control returns the index of the first control character, or a negative number. Those of ISO 8859
// from 0x80 to 0x9f are control characters in UTF-8 as well as in one byte.
func control[T string | []byte](text T, name bool) int {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < 0x7f {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			if isControl(rune(c), name) {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(len(text), i+utf8.UTFMax)]))
		if r == utf8.RuneError && size == 1 {
			r = rune(c)
		}
		if isControl(r, name) {
			return i
		}
		i += size
	}
	return -1
}

func isControl(r rune, name bool) bool {
	if r == '\n' || r == '\t' {
		return name
	}
	return unicode.IsControl(r)
}

// appendEscaped appends text, which begins with a control character.
func appendEscaped(b, text []byte, name bool) []byte {
	const digits = "0123456789abcdef"
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch c := text[0]; {
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case size == 1:
			b = append(b, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		}
		text = text[size:]
		at := control(text, name)
		if at < 0 {
			at = len(text)
		}
		b = append(b, text[:at]...)
		text = text[at:]
	}
	return b
}
