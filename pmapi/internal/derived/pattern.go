package derived

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/pcp-go/pcp/internal/pattern"
)

// A patternError is a message of regerror(3).
type patternError string

func (e patternError) Error() string { return string(e) }

// compilePattern compiles a POSIX extended regular expression; insts is its size. All patterns of
// an expression together have the limit of one. Errors are in the words of regerror(3) of the GNU
// C library.
func (p *parser) compilePattern(text string) (re *regexp.Regexp, insts int, err error) {
	tree, err := pattern.Parse(text, syntax.POSIX)
	if err == nil {
		insts = pattern.Size(tree)
		if p.patterns += insts; p.patterns <= pattern.MaxProgram {
			re, err = regexp.CompilePOSIX(text)
			return re, insts, err
		}
		err = pattern.ErrTooLarge
	}
	if errors.Is(err, pattern.ErrTooLarge) {
		return nil, 0, patternError("Regular expression too big")
	}
	var e *syntax.Error
	if !errors.As(err, &e) {
		return nil, 0, err
	}
	switch e.Code {
	case syntax.ErrMissingParen:
		return nil, 0, patternError(`Unmatched ( or \(`)
	case syntax.ErrUnexpectedParen:
		return nil, 0, patternError(`Unmatched ) or \)`)
	case syntax.ErrMissingBracket:
		return nil, 0, patternError("Invalid regular expression")
	case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return nil, 0, patternError("Invalid preceding regular expression")
	case syntax.ErrInvalidRepeatSize:
		return nil, 0, patternError(`Invalid content of \{\}`)
	case syntax.ErrInvalidCharRange:
		return nil, 0, patternError("Invalid range end")
	case syntax.ErrTrailingBackslash:
		return nil, 0, patternError("Trailing backslash")
	}
	return nil, 0, patternError("Invalid regular expression")
}
