package logrewrite

import "fmt"

// An Error is what is wrong with rules. Its text is that of pmlogrewrite.
type Error struct {
	File     string // where the rules are from
	Line     int    // in it
	Text     string // what is wrong
	Semantic bool   // it is about all rules together; File is the last one, Line means nothing
}

// Error is two lines without a newline at the end.
func (e *Error) Error() string {
	if e.Semantic {
		return fmt.Sprintf("Semantic error in configuration file (%s)\n%s", e.File, e.Text)
	}
	return fmt.Sprintf("Specification error in configuration file (%s)\n[line %d] %s", e.File, e.Line, e.Text)
}

// A Warning is about a rule that has no effect, or is odd.
type Warning struct {
	File   string
	Line   int
	Text   string
	Always bool // pmlogrewrite prints it without -w, too
}

// String is two lines without a newline at the end, as pmlogrewrite prints them.
func (w Warning) String() string {
	return fmt.Sprintf("Warning [%s, line %d]\n%s", w.File, w.Line, w.Text)
}
