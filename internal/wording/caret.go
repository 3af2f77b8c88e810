package wording

import "fmt"

// Caret returns text, and below it a caret at the byte offset with a message, as the C library
// reports syntax errors. The line of the caret repeats tabs and the bytes of wide characters, so
// that the caret is in the column of the error.
func Caret(text string, offset int, msg string) string {
	indent := []byte(text[:offset])
	for i, c := range indent {
		if c > ' ' && c < 0x7f {
			indent[i] = ' '
		}
	}
	return text + "\n" + string(indent) + "^ -- " + msg
}

// Syntax returns an error at a byte offset of text in one line: the text, the message and what
// follows the offset.
func Syntax(text string, offset int, msg string) string {
	where := "at the end"
	if rest := text[offset:]; rest != "" {
		where = fmt.Sprintf("at %q", rest)
	}
	return fmt.Sprintf("%q: %s %s", text, msg, where)
}
