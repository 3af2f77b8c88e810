// Pmgetopt parses the command line of a shell script, as the usage message in a file says, and
// prints it with the options before the operands, all quoted for the shell. Options, output and
// exit status are those of pmgetopt of PCP.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	c := &pcptool.Command{Name: "pmgetopt", Synopsis: "[options] -- [progname arguments]", InOrder: true, NoEnvironment: true}
	os.Exit(c.Report(run(c, os.Args[1:])))
}

func run(c *pcptool.Command, args []string) error {
	program, config, usage := c.Name, "", false
	text := func(variable *string) func(string) error {
		return func(value string) error {
			*variable = value
			return nil
		}
	}
	configGiven := false
	c.AddOptions("Options",
		tool.Option{Short: 'u', Long: "usage", Help: "generate usage message for calling script", Set: tool.Flag(&usage)},
		tool.Option{Short: 'c', Long: "config", Arg: "FILE", Help: "read usage configuration from given FILE", Set: func(file string) error {
			config, configGiven = file, true
			return nil
		}},
		tool.Option{Short: 'p', Long: "progname", Arg: "?", Help: "program name of calling script, for error reporting", Set: text(&program)})
	c.Options = append(c.Options, c.Standard("debug", "help")...)
	args, err := c.Parse(args)
	if err != nil {
		return err
	}
	in := io.Reader(os.Stdin)
	if configGiven {
		f, err := os.Open(config)
		if err != nil {
			return c.Errorf("cannot open %s for reading configuration", config)
		}
		defer f.Close()
		in = f
	}
	lines, err := io.ReadAll(io.LimitReader(in, maxUsage+1))
	switch {
	case err != nil:
		return c.Errorf("%w", pdu.FromError(err))
	case len(lines) > maxUsage:
		return c.Errorf("configuration longer than %d bytes", maxUsage)
	}
	s := parseScript(c, string(lines))
	switch {
	case s.failed:
		return &pcptool.ExitError{Status: 1}
	case usage:
		return &pcptool.ExitError{Status: 1, Message: s.usage(program)}
	}
	fmt.Println(s.rewrite(args))
	return nil
}

// maxUsage is the most bytes that a script's usage message may have.
const maxUsage = 1 << 20

// rewrite returns a script's arguments with the options before the operands. An option that is
// wrong becomes "-?".
func (s *script) rewrite(args []string) string {
	var words []string
	add := func(option string, value *string) {
		words = append(words, option)
		if value != nil {
			words = append(words, quote(*value))
		}
	}
	set := getopt.Set{InOrder: true, Letters: len(s.lines) == 0 && s.tail == "", Fail: func(error) { add("-?", nil) }}
	letters := s.letters()
	for i := range len(letters) {
		if letters[i] == ':' {
			continue
		}
		o := getopt.Option{Short: letters[i], Set: func(string) error { add("-"+letters[i:i+1], nil); return nil }}
		if strings.HasPrefix(letters[i+1:], ":") {
			o.Arg, o.Set = "?", func(value string) error { add("-"+letters[i:i+1], &value); return nil }
		}
		set.Options = append(set.Options, o)
	}
	for _, l := range s.lines {
		if l.option.Long == "" {
			continue
		}
		name := "--" + l.option.Long
		if l.option.Short != 0 {
			name = "-" + string(rune(l.option.Short))
		}
		o := getopt.Option{Long: l.option.Long, Arg: l.option.Arg, Set: func(string) error { add(name, nil); return nil }}
		if o.Arg != "" {
			o.Set = func(value string) error { add(name, &value); return nil }
		}
		set.Options = append(set.Options, o)
	}
	operands, _ := set.Parse(args)
	if len(operands) > 0 {
		words = append(words, "--")
	}
	for _, operand := range operands {
		words = append(words, quote(operand))
	}
	return strings.Join(words, " ")
}

// quote makes a word one of the shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
