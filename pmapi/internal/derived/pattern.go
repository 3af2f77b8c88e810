package derived

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// A patternError is a message of regerror(3).
type patternError string

func (e patternError) Error() string { return string(e) }

// compilePattern compiles a POSIX extended regular expression. Its errors are in the words of regerror(3) of the GNU C library.
func compilePattern(text string) (*regexp.Regexp, error) {
	re, err := regexp.CompilePOSIX(text)
	if err == nil {
		return re, nil
	}
	var e *syntax.Error
	if !errors.As(err, &e) {
		return nil, err
	}
	switch e.Code {
	case syntax.ErrMissingParen:
		return nil, patternError(`Unmatched ( or \(`)
	case syntax.ErrUnexpectedParen:
		return nil, patternError(`Unmatched ) or \)`)
	case syntax.ErrMissingBracket:
		return nil, patternError("Invalid regular expression")
	case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return nil, patternError("Invalid preceding regular expression")
	case syntax.ErrInvalidRepeatSize:
		return nil, patternError(`Invalid content of \{\}`)
	case syntax.ErrInvalidCharRange:
		return nil, patternError("Invalid range end")
	case syntax.ErrTrailingBackslash:
		return nil, patternError("Trailing backslash")
	}
	return nil, patternError("Invalid regular expression")
}
