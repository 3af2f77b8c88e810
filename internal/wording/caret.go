package wording

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
