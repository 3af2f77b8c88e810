// Newhelp compiles help texts of metrics and instance domains for the agents of PCP.
//
//	newhelp -n root -o help help      # makes help.dir and help.pag
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/pcp-go/pcp/examples/internal/asciipmns"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/helptext"
)

// The exit statuses.
const (
	statusWarning = 1 // a text is not what its source says, or with -V empty
	statusFailed  = 2 // an entry is missing, or all are
)

// A compiler is a run of the program.
type compiler struct {
	names      string
	namesGiven bool
	base       string
	verbose    bool
	parser     helptext.Parser
	warned     bool // of the present entry
	status     int
	errs       io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stderr))
}

// run returns the exit status.
func run(args []string, stdin io.Reader, errs io.Writer) int {
	c := &compiler{errs: errs}
	set := c.options()
	files, wrong := set.Parse(args)
	if set.Report(errs, wrong) {
		return statusFailed
	}
	if err := c.compile(files, stdin); err != nil {
		fmt.Fprintln(errs, err)
		return statusFailed
	}
	return c.status
}

func (c *compiler) options() *getopt.Set {
	return &getopt.Set{Program: "newhelp", Synopsis: "[options] [file ...]", InOrder: os.Getenv("POSIXLY_CORRECT") != "",
		Options: []getopt.Option{
			{Heading: "General options"},
			{Short: 'D', Long: "debug", Arg: "DEBUGSPEC", Set: func(v string) error {
				if _, ok := pmlog.ParseDebug(v); !ok {
					return fmt.Errorf("unrecognized debug options specification (%s)", v)
				}
				return nil
			}},
			{Short: 'n', Long: "namespace", Arg: "FILE", Help: "use an alternative PMNS",
				Set: func(v string) error { c.names, c.namesGiven = v, true; return nil }},
			{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage},
			{Heading: "Output options"},
			{Short: 'o', Long: "output", Arg: "FILE", Help: "base name for output files",
				Set: func(v string) error { c.base = v; return nil }},
			{Short: 'V', Long: "verbose", Help: "verbose/diagnostic output", Set: func(string) error { c.verbose = true; return nil }},
			{Short: 'v', Long: "version", Arg: "N", Help: "deprecated (only version 2 format supported)", Set: setVersion},
		}}
}

func setVersion(v string) error {
	n, err := strconv.Atoi(v)
	switch {
	case err != nil:
		return errors.New("-v requires numeric argument")
	case n != 2:
		return errors.New("deprecated option - only version 2 is supported")
	}
	return nil
}

// compile compiles the files, or the standard input if there are none.
func (c *compiler) compile(files []string, stdin io.Reader) error {
	if c.base == "" && len(files) > 0 {
		c.base = files[0]
	}
	if c.base == "" {
		return errors.New("newhelp: need either a -o option or a filename argument to name the output file")
	}
	names, err := asciipmns.Load(c.names, c.namesGiven, "newhelp: ")
	if err != nil {
		return err
	}
	c.parser = helptext.Parser{Lookup: names.Lookup, Newhelp: true, Report: c.report, Added: c.added}
	if len(files) == 0 {
		if err := c.parser.Parse("<stdin>", stdin); err != nil {
			return err
		}
	}
	for _, name := range files {
		if err := c.parseFile(name); err != nil {
			return fmt.Errorf("%s: %w", name, pdu.FromError(err))
		}
	}
	dir, pag, err := helptext.Compile(c.parser.Entries)
	if err != nil {
		return fmt.Errorf("newhelp: %w", err)
	}
	return errors.Join(c.write(".pag", pag), c.write(".dir", dir))
}

func (c *compiler) parseFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.parser.Parse(name, f)
}

func (c *compiler) write(suffix string, b []byte) error {
	name := c.base + suffix
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("newhelp: fopen(\"%s\", ...) failed: %w", name, pdu.FromError(err))
	}
	_, err = io.Copy(f, bytes.NewReader(b))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("newhelp: cannot write \"%s\": %w", name, pdu.FromError(err))
	}
	return nil
}

// report prints what is wrong with an entry.
func (c *compiler) report(p *helptext.Problem) {
	status, onlyVerbose := statusWarning, false
	switch p.Kind {
	case helptext.UnknownKey, helptext.Duplicate:
		status = statusFailed
	case helptext.EmptyEntry:
		onlyVerbose = true
	case helptext.NoOneLine, helptext.NoHelp:
		c.warned, onlyVerbose = true, true
		if !c.verbose {
			status = 0
		}
	}
	c.status = max(c.status, status)
	if c.verbose || !onlyVerbose {
		fmt.Fprintf(c.errs, "newhelp: %v\n", p)
	}
}

// added prints the key of an entry of which nothing was to be said.
func (c *compiler) added(e *helptext.Entry) {
	if c.verbose && !c.warned {
		fmt.Fprintln(c.errs, e.Key)
	}
	c.warned = false
}
