package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const blanks = " \t"

// A script is what a usage message says.
type script struct {
	synopsis     string
	lettersGiven bool
	given        string // as for getopt(3)
	lines        []line
	tail         string // what follows "# end"
	failed       bool   // it is wrong somewhere
}

// A line is a line of a usage message: an option, or a text.
type line struct {
	text   string
	option getopt.Option
	hidden bool // from the usage message
}

// standardNames are the options that a line may name alone.
var standardNames = []string{"align", "archive", "archive-folio", "archive-list", "container", "debug", "finish", "guimode", "guiport",
	"help", "host", "host-list", "hostsfile", "hostzone", "interval", "local-PMDA", "namespace", "origin", "samples", "spec-local",
	"start", "timezone", "uniqnames", "version"}

// parseScript parses a usage message and prints its mistakes.
func parseScript(c *pcptool.Command, text string) *script {
	s := &script{synopsis: "[options]"}
	fail := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name, terminal.Escape(fmt.Sprintf(format, args...)))
	}
	for n := 1; text != ""; n++ {
		var l string
		l, text, _ = strings.Cut(text, "\n")
		if directive, ok := strings.CutPrefix(l, "#"); ok {
			if s.direct(directive, fail) {
				s.tail = text
				break
			}
			continue
		}
		if message := s.add(c, l); message != "" {
			fail("%s, line %d ignored", message, n)
			s.failed = true
			break
		}
	}
	return s
}

// direct does what a line says that begins with "#", and reports whether the options end there.
func (s *script) direct(directive string, fail func(format string, args ...any)) (end bool) {
	word, rest, _ := strings.Cut(strings.TrimLeft(directive, blanks), " ")
	rest = strings.TrimLeft(rest, blanks)
	word = strings.ToLower(word)
	switch {
	case strings.HasPrefix(word, "getopt"):
		s.lettersGiven = true
		s.given = ""
		if words := strings.Fields(rest); len(words) > 0 {
			s.given = words[0]
		}
	case strings.HasPrefix(word, "usage"):
		s.synopsis = rest
	case strings.HasPrefix(word, "end"):
		return true
	default:
		fail("unrecognized command: '%s'", directive)
	}
	return false
}

// add adds a line. It returns the error in an option. A line with a word at its very beginning may
// have an option after that word. If it has no option, C's pmgetopt prints the words that it has
// examined.
func (s *script) add(c *pcptool.Command, l string) (message string) {
	word := strings.TrimLeft(l, blanks)
	if len(word) == len(l) {
		i := strings.IndexAny(l, blanks)
		if i < 0 {
			s.lines = append(s.lines, line{text: l})
			return ""
		}
		word = strings.TrimLeft(l[i:], blanks)
	}
	first, rest := cutWord(word)
	if len(first) < 2 || first[0] != '-' {
		s.lines = append(s.lines, line{text: strings.TrimSuffix(l, rest)})
		return ""
	}
	if strings.Trim(rest, blanks) == "" {
		return s.addStandard(c, first)
	}
	if letter, long, ok := strings.Cut(first, ","); ok && first[1] != '-' { // with or without blanks between
		first, rest = letter+",", long+rest
	}
	o, ok := parseOption(first, rest)
	if !ok {
		_, at := cutWord(strings.TrimLeft(rest, blanks))
		return fmt.Sprintf("expected long option at \"%s\"", strings.TrimLeft(at, blanks))
	}
	s.lines = append(s.lines, line{option: o})
	return ""
}

// cutWord returns the first word and what follows it.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// addStandard adds an option that all tools of PCP may have.
func (s *script) addStandard(c *pcptool.Command, name string) (message string) {
	all := c.Standard(standardNames...)
	i := slices.IndexFunc(all, func(o tool.Option) bool {
		if long, ok := strings.CutPrefix(name, "--"); ok {
			return o.Long == long
		}
		return o.Short != 0 && o.Short == name[1]
	})
	if i < 0 {
		return fmt.Sprintf("cannot find PCP option \"%s\"", name)
	}
	o := all[i]
	s.lines = append(s.lines, line{option: getopt.Option{Short: o.Short, Long: o.Long, Arg: o.Arg, Help: o.Help}, hidden: o.Help == ""})
	return ""
}

// parseOption parses "--long=N text", "-x=N text" or "-x=N, --long=N text", whose first word is
// given; "=N" may be missing. The argument of an option with a long name is that of the long name.
func parseOption(first, rest string) (o getopt.Option, ok bool) {
	if !strings.HasPrefix(first, "--") {
		letter, both := strings.CutSuffix(first, ",")
		o.Short = letter[1]
		if !both {
			if len(letter) > 2 {
				_, o.Arg, _ = strings.Cut(letter, "=")
				rest = rest[min(2, len(rest)):] // PCP's pmgetopt expects two blanks at least
			}
			o.Help = strings.TrimLeft(rest, blanks)
			return o, true
		}
		first, rest = cutWord(strings.TrimLeft(rest, blanks))
		if !strings.HasPrefix(first, "--") {
			return o, false
		}
	}
	o.Long, o.Arg, _ = strings.Cut(first[2:], "=")
	o.Help = strings.TrimLeft(rest, blanks)
	return o, true
}

// letters are the letters of the options, as for getopt(3).
func (s *script) letters() string {
	if s.lettersGiven {
		return s.given
	}
	var b strings.Builder
	for _, l := range s.lines {
		if l.option.Short != 0 {
			b.WriteByte(l.option.Short)
			if l.option.Arg != "" {
				b.WriteByte(':')
			}
		}
	}
	return b.String()
}

// usage is the usage message.
func (s *script) usage(program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s %s\n", program, s.synopsis)
	for _, l := range s.lines {
		switch {
		case l.hidden:
		case l.option.Short == 0 && l.option.Long == "":
			b.WriteString(l.text + "\n")
		default:
			b.WriteString(getopt.UsageLine(l.option))
		}
	}
	return b.String() + s.tail
}
