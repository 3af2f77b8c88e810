package trace

import (
	"fmt"
	"strings"
	"unicode"
)

// MaxTag is the length of the longest tag that every agent accepts, in bytes. C agents on
// processors with signed chars, such as amd64, close the connection when they receive a longer one.
const MaxTag = 124

// validTag reports whether every agent accepts a tag as the name of an instance.
func validTag(tag string) bool {
	if tag == "" || len(tag) > MaxTag || tag[0] == ' ' {
		return false
	}
	for i := range len(tag) {
		if b := tag[i]; b < ' ' || b > '~' {
			return !strings.ContainsFunc(tag, unicode.IsControl)
		}
	}
	return true
}

// A tagError describes an invalid tag in more detail than the C library's code does.
type tagError struct {
	text string
	code Error
}

func (e *tagError) Error() string { return e.text }
func (e *tagError) Unwrap() error { return e.code }

// tagFault returns what is wrong with an invalid tag.
func tagFault(tag string) error {
	switch {
	case tag == "":
		return &tagError{"the tag is empty", ErrTagName}
	case len(tag) > MaxTag:
		return &tagError{fmt.Sprintf("tag %.20q... of %d bytes is longer than %d (MaxTag)", tag, len(tag), MaxTag), ErrTagLength}
	case tag[0] == ' ':
		return &tagError{fmt.Sprintf("tag %q begins with a space", tag), ErrTagName}
	}
	return &tagError{fmt.Sprintf("tag %q has a control character", tag), ErrTagName}
}
