// Newhelp compiles help texts of metrics and instance domains for the agents of PCP.
//
//	newhelp -n root -o help help      # makes help.dir and help.pag
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/asciipmns"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// Exit statuses.
const (
	statusWarning = 1 // a text is not what its source says, or with -V empty
	statusFailed  = 2 // an entry is missing, or all are
)

// A compiler is a run of the program.
type compiler struct {
	names      string
	namesGiven bool
	base       string
	baseGiven  bool
	verbose    bool
	parser     helptext.Parser
	warned     bool     // of the present entry
	pag        *os.File // of the texts
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
		return getopt.Status(wrong) * statusFailed
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
				Set: func(v string) error { c.base, c.baseGiven = v, true; return nil }},
			{Short: 'V', Long: "verbose", Help: "verbose/diagnostic output", Set: func(string) error { c.verbose = true; return nil }},
			{Short: 'v', Long: "version", Arg: "N", Help: "deprecated (only version 2 format supported)", Set: setVersion},
		}}
}

func setVersion(v string) error {
	n, rest, ok := scan.Int(v)
	numeric, known := "-v requires numeric argument", "deprecated option - only version 2 is supported"
	switch {
	case rest != "" && (n != 2 || !ok):
		return errors.New(numeric + "\nnewhelp: " + known)
	case rest != "":
		return errors.New(numeric)
	case n != 2:
		return errors.New(known)
	}
	return nil
}

// compile compiles the files, or standard input without files.
func (c *compiler) compile(files []string, stdin io.Reader) error {
	names, err := asciipmns.Load(c.names, c.namesGiven, "newhelp: ")
	switch {
	case err != nil:
		return err
	case !c.baseGiven && len(files) == 0:
		return errors.New("newhelp: need either a -o option or a filename argument to name the output file")
	case !c.baseGiven:
		c.base = files[0]
	}
	resolve := func(key string) (pdu.TextTarget, error) {
		id, err := names.Lookup(key)
		if err != nil {
			err = pdu.FromError(err)
		}
		return pdu.TextOfMetric(id), err
	}
	c.parser = helptext.Parser{Resolve: resolve, Newhelp: true, Report: c.report, Added: c.added}
	defer func() {
		if c.pag != nil {
			c.pag.Close()
		}
	}()
	if len(files) == 0 {
		if err := c.parse("<stdin>", stdin); err != nil {
			return err
		}
	}
	for _, name := range files {
		if err := c.parseFile(name); err != nil {
			return err
		}
	}
	return c.write()
}

func (c *compiler) parseFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, pdu.FromError(err))
	}
	defer f.Close()
	return c.parse(name, f)
}

// parse parses a source. It opens the first output file before the first source, so that its error
// comes before those of the source.
func (c *compiler) parse(name string, r io.Reader) (err error) {
	if c.pag == nil {
		if c.pag, err = c.open(".pag"); err != nil {
			return err
		}
	}
	if err := c.parser.Parse(name, r); err != nil {
		return fmt.Errorf("%s: %w", name, pdu.FromError(err))
	}
	return nil
}

// open opens a file for writing and keeps its contents, because it may belong to the other file of
// the pair.
func (c *compiler) open(suffix string) (*os.File, error) {
	f, err := os.OpenFile(c.base+suffix, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("newhelp: fopen(\"%s%s\", ...) failed: %w", c.base, suffix, pdu.FromError(err))
	}
	return f, nil
}

// write writes both files.
func (c *compiler) write() error {
	dir, pag, err := helptext.Compile(c.parser.Entries)
	if err != nil {
		return fmt.Errorf("newhelp: %w", err)
	}
	if err := replace(c.pag, pag); err != nil {
		return err
	}
	f, err := c.open(".dir")
	if err != nil {
		return err
	}
	err = replace(f, dir)
	return errors.Join(err, f.Close())
}

// replace replaces the contents of a file.
func replace(f *os.File, b []byte) error {
	err := f.Truncate(0)
	if errors.Is(err, syscall.EINVAL) { // not of a file, but of a device
		err = nil
	}
	if err == nil {
		_, err = f.Write(b)
	}
	if err != nil {
		return fmt.Errorf("newhelp: cannot write \"%s\": %w", f.Name(), pdu.FromError(err))
	}
	return nil
}

// report prints a problem of an entry.
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

// added prints the key of an entry without a warning.
func (c *compiler) added(e *helptext.Entry) {
	if c.verbose && !c.warned {
		fmt.Fprintln(c.errs, e.Key)
	}
	c.warned = false
}
