package getopt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/internal/wording"
)

// An Option is a line of a program's table of options. One with a Heading and nothing else starts a
// part of the usage message.
type Option struct {
	Short byte   // its letter; 0 if it has none
	Long  string // its name; empty if it has none
	Arg   string // what the usage message calls its argument; empty if it has none
	Help  string // what it does; the usage message leaves out an option without
	Exact bool   // its name cannot be abbreviated, so that an option of ours does not make those of PCP's tool ambiguous
	// Set is called when the option is given, with its argument if it has one. Its error is an
	// error of the command line.
	Set func(value string) error

	Heading string
}

// ErrUsage is the error that an option's Set returns to request the usage message.
var ErrUsage = errors.New("usage")

// ErrVersion is the error of --version, which every program has. Where a program has an option of
// this name with an argument, only --version alone has this error. It wraps ErrUsage. Report prints
// the version.
var ErrVersion = fmt.Errorf("version: %w", ErrUsage)

// An UnknownError is the error of a long option that the program does not have.
type UnknownError struct {
	Word    string   // as it was given
	Similar []string // the names that it may stand for
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unrecognized option '%s'", e.Word) }

// Version is the Set of an option --version.
func Version(string) error { return ErrVersion }

// Usage is the Set of an option that requests the usage message.
func Usage(string) error { return ErrUsage }

// A Set is the options of a program.
type Set struct {
	Program  string // its name in messages
	Synopsis string // what follows its name in the first line of the usage message
	Options  []Option
	// InOrder ends the options at the first operand; otherwise options and operands may come mixed.
	// Tools set it if the environment has POSIXLY_CORRECT.
	InOrder bool
	// Letters takes what begins with two dashes for letters too, "--help" for -- -h -e -l -p, as
	// getopt(3) does. Such a program has no long names.
	Letters bool
	// Fail, if not nil, is called with each error when it is found, between the calls of Set; Parse
	// then returns no errors. If it is nil, Parse returns all errors.
	Fail func(err error)
}

// Parse calls Set of each option in args, in their order, and returns the operands: the other
// words. The name of the program is not in args. All options are parsed, even after an error. A
// program prints the errors with Report.
//
// "-abc" is "-a -b -c" unless a takes an argument. The argument of a short option may follow in the
// same word or be the next word. "--name=value" and "--name value" are the same. A long name may be
// abbreviated if the abbreviation is unique. "--" ends the options, and "-" is an operand.
func (s *Set) Parse(args []string) (operands []string, errs []error) {
	p := parser{opts: s, args: args, alone: len(args) == 1}
	for len(p.args) > 0 {
		word := p.args[0]
		p.args = p.args[1:]
		switch {
		case word == "--":
			return append(operands, p.args...), p.errs
		case word == "--version" && s.Letters && p.alone && s.Fail == nil:
			p.add(ErrVersion)
		case strings.HasPrefix(word, "--") && !s.Letters:
			p.long(word)
		case len(word) > 1 && word[0] == '-':
			p.short(word[1:])
		case s.InOrder:
			return append(operands, append([]string{word}, p.args...)...), p.errs
		default:
			operands = append(operands, word)
		}
	}
	return operands, p.errs
}

type parser struct {
	opts  *Set
	args  []string // not yet parsed
	alone bool     // there is one word
	errs  []error
}

func (p *parser) fail(format string, args ...any) { p.add(fmt.Errorf(format, args...)) }

func (p *parser) add(err error) {
	if p.opts.Fail != nil {
		p.opts.Fail(err)
		return
	}
	p.errs = append(p.errs, err)
}

// set calls the Set function of an option.
func (p *parser) set(o *Option, value string) {
	if o.Set == nil {
		return
	}
	if err := o.Set(value); err != nil {
		p.add(err)
	}
}

// next is the word after the current one.
func (p *parser) next() (value string, ok bool) {
	if len(p.args) == 0 {
		return "", false
	}
	value = p.args[0]
	p.args = p.args[1:]
	return value, true
}

// short parses a word of letters.
func (p *parser) short(letters string) {
	for letters != "" {
		c := letters[0]
		letters = letters[1:]
		o := p.opts.letter(c)
		switch {
		case o == nil:
			p.fail("invalid option -- '%s'", []byte{c}) // which may be part of a character
		case o.Arg == "":
			p.set(o, "")
		case letters != "":
			p.set(o, letters)
			return
		default:
			if value, ok := p.next(); ok {
				p.set(o, value)
			} else {
				p.fail("option requires an argument -- '%c'", c)
			}
		}
	}
}

// long parses a word that starts with two dashes.
func (p *parser) long(word string) {
	name, value, given := strings.Cut(word[2:], "=")
	found := p.opts.named(name)
	if word == "--version" && (len(found) != 1 || found[0].Long != name || found[0].Arg != "" && p.alone) {
		p.add(ErrVersion)
		return
	}
	switch {
	case len(found) == 0:
		p.add(&UnknownError{word, p.opts.similar(name)})
		return
	case len(found) > 1:
		var all strings.Builder
		for _, o := range found {
			fmt.Fprintf(&all, " '--%s'", o.Long)
		}
		p.fail("option '%s' is ambiguous; possibilities:%s", word, all.String())
		return
	}
	o := found[0]
	switch {
	case o.Arg == "" && given:
		p.fail("option '--%s' doesn't allow an argument", o.Long)
		return
	case o.Arg != "" && !given:
		if value, given = p.next(); !given {
			p.fail("option '--%s' requires an argument", o.Long)
			return
		}
	}
	p.set(o, value)
}

// similar returns the long names that a misspelt one may stand for.
func (s *Set) similar(name string) []string {
	var names []string
	for _, o := range s.Options {
		if o.Long != "" {
			names = append(names, o.Long)
		}
	}
	return wording.Similar(name, names)
}

// letter returns the option of a letter, or nil.
func (s *Set) letter(c byte) *Option {
	for i := range s.Options {
		if o := &s.Options[i]; o.Short == c && c != 0 {
			return o
		}
	}
	return nil
}

// named returns the option with a name, or all options whose names begin with it: the first, then
// the others from the last to the second, as getopt_long of PCP 6.0.3's C library lists them.
func (s *Set) named(name string) []*Option {
	var found []*Option
	for i := range s.Options {
		o := &s.Options[i]
		switch {
		case o.Long == "":
		case o.Long == name:
			return []*Option{o}
		case strings.HasPrefix(o.Long, name) && !o.Exact:
			found = append(found, o)
		}
	}
	for i, j := 1, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}
