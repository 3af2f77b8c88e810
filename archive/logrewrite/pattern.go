package logrewrite

import (
	"errors"
	"regexp"
	"regexp/syntax"

	limited "github.com/pcp-go/pcp/internal/pattern"
	"github.com/pcp-go/pcp/pdu"
)

// A pattern replaces the first match of a regular expression.
type pattern struct {
	find *regexp.Regexp
	with string
	text string // of the expression
}

// maxReplaced is the maximum length of a replaced text: that of a value.
const maxReplaced = 1<<24 - 1 - 5

// pattern compiles a POSIX extended regular expression.
func (p *Plan) pattern(expr, with string) (*pattern, error) {
	find, err := limited.CompilePOSIX(expr)
	if err != nil {
		return nil, p.errorf("regcomp error: %s", regcompError(err))
	}
	return &pattern{find, with, expr}, nil
}

// regcompErrors are the error texts of regcomp(3).
var regcompErrors = map[syntax.ErrorCode]string{
	syntax.ErrInvalidCharClass:      "Invalid character class name",
	syntax.ErrInvalidCharRange:      "Invalid range end",
	syntax.ErrInvalidEscape:         "Invalid back reference",
	syntax.ErrInvalidRepeatOp:       "Invalid preceding regular expression",
	syntax.ErrInvalidRepeatSize:     `Invalid content of \{\}`,
	syntax.ErrLarge:                 "Regular expression too big",
	syntax.ErrMissingBracket:        "Unmatched [, [^, [:, [., or [=",
	syntax.ErrMissingParen:          `Unmatched ( or \(`,
	syntax.ErrMissingRepeatArgument: "Invalid preceding regular expression",
	syntax.ErrNestingDepth:          "Regular expression too big",
	syntax.ErrTrailingBackslash:     "Trailing backslash",
	syntax.ErrUnexpectedParen:       `Unmatched ) or \)`,
}

func regcompError(err error) string {
	if errors.Is(err, limited.ErrTooLarge) {
		return regcompErrors[syntax.ErrLarge]
	}
	if e, ok := errors.AsType[*syntax.Error](err); ok && regcompErrors[e.Code] != "" {
		return regcompErrors[e.Code]
	}
	return "Invalid regular expression"
}

// replace returns text with the first match replaced, and whether there was one.
func (p *pattern) replace(text string) (string, bool, error) {
	at := p.find.FindStringSubmatchIndex(text)
	if at == nil {
		return text, false, nil
	}
	b := []byte(text[:at[0]])
	group := func(n int) {
		if 2*n+1 < len(at) && at[2*n] >= 0 {
			b = append(b, text[at[2*n]:at[2*n+1]]...)
		}
	}
	for i := 0; i < len(p.with) && len(b) <= maxReplaced; i++ {
		switch c := p.with[i]; {
		case c == '&':
			group(0)
		case c == '\\' && i+1 < len(p.with):
			i++
			if c := p.with[i]; c >= '1' && c <= '9' {
				group(int(c - '0'))
			} else {
				b = append(b, c)
			}
		default:
			b = append(b, c)
		}
	}
	if b = append(b, text[at[1]:]...); len(b) > maxReplaced {
		return "", false, pdu.ErrTooBig
	}
	return string(b), true, nil
}
