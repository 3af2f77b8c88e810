package logrewrite

import "fmt"

// An Error is an error in a rule, with the text of pmlogrewrite.
type Error struct {
	File     string // the name given to Parse
	Line     int    // line in File; undefined for errors of Check
	Text     string // the message without file and line
	semantic bool   // from Check: about all rules together
}

// Error returns two lines without a final newline.
func (e *Error) Error() string {
	if e.semantic {
		return fmt.Sprintf("Semantic error in configuration file (%s)\n%s", e.File, e.Text)
	}
	return fmt.Sprintf("Specification error in configuration file (%s)\n[line %d] %s", e.File, e.Line, e.Text)
}

// A Warning says that a rule has no effect or looks wrong.
type Warning struct {
	File   string
	Line   int
	Text   string
	Always bool // pmlogrewrite prints it even without -w
}

// String returns two lines without a final newline, as pmlogrewrite prints them.
func (w Warning) String() string {
	return fmt.Sprintf("Warning [%s, line %d]\n%s", w.File, w.Line, w.Text)
}
