// Package pattern compiles regular expressions that users and clients choose, whose memory and
// time are limited. Package regexp accepts a kilobyte of text that stands for 100 MB of program:
// (a{1000}){1000} is refused there, but (a{1000}b{1000}…) is not.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// Limits of an expression. The time of a match is at most proportional to the lengths of the text
// and of the program.
const (
	MaxText    = 4 << 10 // bytes of its text
	MaxProgram = 4 << 10 // instructions that it stands for, as Size counts them
)

// rangesPerInst is how many bounds of character ranges count as one instruction: package regexp
// keeps them up to three times.
const rangesPerInst = 8

// ErrTooLarge is the error of an expression that exceeds a limit.
var ErrTooLarge = errors.New("regular expression too large: shorten it, or use smaller repetitions")

// Compile is regexp.Compile with limits.
func Compile(text string) (*regexp.Regexp, error) {
	if _, err := Parse(text, syntax.Perl); err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// CompilePOSIX is regexp.CompilePOSIX with limits.
func CompilePOSIX(text string) (*regexp.Regexp, error) {
	if _, err := Parse(text, syntax.POSIX); err != nil {
		return nil, err
	}
	return regexp.CompilePOSIX(text)
}

// Parse is syntax.Parse with limits.
func Parse(text string, flags syntax.Flags) (*syntax.Regexp, error) {
	if len(text) > MaxText {
		return nil, ErrTooLarge
	}
	re, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, err
	}
	if Size(re) > MaxProgram {
		return nil, ErrTooLarge
	}
	return re, nil
}

// Size estimates how many instructions an expression needs. It is MaxProgram + 1 for any estimate
// above MaxProgram.
func Size(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / rangesPerInst
	case syntax.OpCapture:
		n = 2
	case syntax.OpRepeat, syntax.OpConcat:
		n = 0
	}
	for _, sub := range re.Sub {
		n = min(n+Size(sub), MaxProgram+1)
	}
	if re.Op == syntax.OpRepeat {
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		n *= max(times, 1)
	}
	return min(n, MaxProgram+1)
}
