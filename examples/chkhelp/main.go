// Chkhelp checks and prints the compiled help texts of an agent.
//
//	chkhelp help                    # checks help.dir and help.pag
//	chkhelp -n root -OH help -p     # prints all texts of metrics
//	chkhelp -n root -e help         # the metrics without texts
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/asciipmns"
	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

const usage = `Usage: chkhelp helpfile
       chkhelp [options] helpfile [metricname ...]

Options:
  -e           exists check, only report metrics with no help text
  -H           display verbose help text
  -i           process all the instance domains
  -n pmnsfile  use an alternative PMNS
  -O           display the one line help summary
  -p           process all the metrics (PMIDs)
  -v version   deprecated (only version 2 format supported)

No options implies silently check internal integrity of the helpfile.
`

// A checker is a run of the program.
type checker struct {
	namespace     string
	given         bool // a namespace
	missing       bool // only list metrics without texts
	oneLine, help bool // print them
	metrics       bool // all
	indoms        bool // all

	names     *asciipmns.Names
	entries   []helptext.Entry
	index     map[pdu.TextTarget]helptext.Entry
	out, errs io.Writer
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	status := run(os.Args, out, os.Stderr)
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "chkhelp:", err)
		status = 1
	}
	os.Exit(status)
}

// run returns the exit status. args has the name of the program first.
func run(args []string, out, errs io.Writer) int {
	if len(args) > 0 && build.Asked(args[1:]) {
		io.WriteString(out, build.Text("chkhelp"))
		return 0
	}
	c := &checker{out: out, errs: errs}
	operands, ok := c.parse(args)
	if !ok {
		io.WriteString(errs, usage)
		return 1
	}
	if err := c.check(operands[0], operands[1:]); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// A complaint is an error of the command line that the program finds and getopt(3) does not.
type complaint string

func (c complaint) Error() string { return "chkhelp: " + string(c) }

// parse parses the command line and prints its errors.
func (c *checker) parse(args []string) (operands []string, ok bool) {
	flag := func(of *bool) func(string) error {
		return func(string) error { *of = true; return nil }
	}
	set := getopt.Set{Letters: true, InOrder: os.Getenv("POSIXLY_CORRECT") != "", Options: []getopt.Option{
		{Short: 'D', Arg: "SPEC", Set: func(v string) error {
			if _, ok := pmlog.ParseDebug(v); !ok {
				return complaint("unrecognized debug options specification (" + v + ")")
			}
			return nil
		}},
		{Short: 'e', Set: flag(&c.missing)},
		{Short: 'H', Set: flag(&c.help)},
		{Short: 'i', Set: flag(&c.indoms)},
		{Short: 'n', Arg: "FILE", Set: func(v string) error { c.namespace, c.given = v, true; return nil }},
		{Short: 'O', Set: flag(&c.oneLine)},
		{Short: 'p', Set: flag(&c.metrics)},
		{Short: 'v', Arg: "N", Set: setVersion},
		{Short: '?', Set: getopt.Usage},
	}}
	operands, wrong := set.Parse(args[1:])
	for _, err := range wrong {
		switch _, own := errors.AsType[complaint](err); {
		case errors.Is(err, getopt.ErrUsage):
		case own:
			fmt.Fprintln(c.errs, err)
		default:
			fmt.Fprintf(c.errs, "%s: %v\n", args[0], err)
		}
	}
	clashes := c.clashes(operands)
	for _, clash := range clashes {
		fmt.Fprintf(c.errs, "%v\n\n", clash)
	}
	return operands, len(wrong) == 0 && len(clashes) == 0
}

// setVersion parses a number as strtol(3) does.
func setVersion(v string) error {
	n, rest, ok := scan.Int(v)
	numeric, known := complaint("-v requires numeric argument"), complaint("deprecated option - only version 2 is supported")
	switch {
	case rest != "" && (n != 2 || !ok):
		return errors.Join(numeric, known)
	case rest != "":
		return numeric
	case n != 2:
		return known
	}
	return nil
}

// clashes returns the errors of options and operands that exclude each other.
func (c *checker) clashes(operands []string) (found []complaint) {
	all := c.metrics || c.indoms
	switch {
	case len(operands) == 0:
		found = append(found, "missing helpfile argument")
	case len(operands) > 1 && all:
		found = append(found, "metricname arguments cannot be used with -i or -p")
	case len(operands) == 1 && !all && (c.oneLine || c.help):
		found = append(found, "-O or -H require metricname arguments or -i or -p")
	}
	if c.missing && all {
		found = append(found, "-e cannot be used with -i or -p")
	}
	return found
}

// check reads the texts and prints what the options select.
func (c *checker) check(base string, names []string) error {
	var err error
	dir, file := filepath.Split(base)
	if c.entries, err = helptext.Read(os.DirFS(cmp.Or(dir, ".")), file); err != nil {
		if _, ok := errors.AsType[*helptext.FormatError](err); !ok {
			err = pdu.FromError(err)
		}
		return fmt.Errorf("pmdaOpenHelp: failed to open \"%s\": %w", base, err)
	}
	c.index = helptext.Index(c.entries)
	if c.names, err = asciipmns.Load(c.namespace, c.given, ""); err != nil {
		return err
	}
	if !c.oneLine && !c.help {
		c.oneLine = true
	}
	switch {
	case c.missing && len(names) == 0:
		c.listMissing("")
	case c.missing:
		for _, name := range names {
			c.listMissing(name)
		}
	case len(names) == 0 && !c.metrics && !c.indoms:
	default:
		c.printAll()
		for _, name := range names {
			c.printNamed(name)
		}
	}
	return nil
}

// listMissing prints the metrics at or below a name that have no entry.
func (c *checker) listMissing(at string) {
	names, err := c.names.Traverse(at)
	if err != nil {
		fmt.Fprintf(c.errs, "Error: pmTraversePMNS(\"%s\", ...): %v\n", at, pdu.FromError(err))
		return
	}
	for _, name := range names {
		id, err := c.names.Lookup(name)
		if _, ok := c.index[pdu.TextOfMetric(id)]; err == nil && !ok {
			fmt.Fprintln(c.out, name)
		}
	}
}

// printAll prints the entries that -p and -i select.
func (c *checker) printAll() {
	for _, e := range c.entries {
		d, isInDom := e.Of.InDom()
		id, _ := e.Of.PMID()
		switch {
		case isInDom && c.indoms:
			fmt.Fprintf(c.out, "\nInDom %s:", d)
		case !isInDom && c.metrics:
			fmt.Fprintf(c.out, "\nPMID %s", id)
			if names := c.names.Of(id); len(names) > 0 {
				fmt.Fprintf(c.out, " %s", strings.Join(names, " or "))
			}
			fmt.Fprint(c.out, ":")
		default:
			continue
		}
		c.printTexts(e.Of)
	}
}

// printNamed prints the texts of a metric.
func (c *checker) printNamed(name string) {
	id, err := c.names.Lookup(name)
	if err != nil {
		fmt.Fprintf(c.out, "\n%s: %v\n", name, pdu.FromError(err))
		return
	}
	fmt.Fprintf(c.out, "\nPMID %s %s:", id, name)
	c.printTexts(pdu.TextOfMetric(id))
}

// printTexts prints the texts that -O and -H select.
func (c *checker) printTexts(of pdu.TextTarget) {
	e, ok := c.index[of]
	print := func(text, none, empty string) {
		switch {
		case !ok:
			text = none
		case text == "":
			text = empty
		}
		fmt.Fprintln(c.out, text)
	}
	if c.oneLine {
		fmt.Fprint(c.out, " ")
		print(e.OneLine, "<empty one line string>", "<no one line available>")
	}
	if c.help {
		print(e.Help, "<empty full text string>", "<no full text available>")
	}
}
