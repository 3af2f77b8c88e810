// Pmlogcheck checks the files of an archive: that records are complete, that the index leads to them, that descriptors make
// sense, and that times and counters do not decrease. What it finds is on standard error.
//
//	pmlogcheck 20261123      # all checks
//	pmlogcheck -w 20261123   # all but those for counters that have decreased
//	pmlogcheck -mv 20261123  # those of the files' structure, index and metadata, and what is done
package main

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmns"
)

// options are those of the command line.
type options struct {
	label    bool
	metaOnly bool
	verbose  int
	noWraps  bool
	window   pmapi.WindowSpec // of -S and -T
	names    *pmns.Tree       // of -n; nil without
}

func main() {
	o := new(options)
	c := newCommand(o)
	errs := bufio.NewWriter(tool.NewEscapeWriter(os.Stderr))
	var notes strings.Builder
	if !isTerminal(os.Stdout) { // where PCP's tool, too, prints notes at its end
		c.Stdout = &notes
	}
	err := run(context.Background(), c, o, errs)
	errs.Flush()
	status := c.Report(err)
	os.Stdout.WriteString(notes.String())
	os.Exit(status)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func newCommand(o *options) *tool.Command {
	c := &tool.Command{Name: "pmlogcheck", Synopsis: "[options] archive", OperandSource: true, ZoneNote: true}
	names := c.Standard("namespace")[0]
	check := names.Set
	names.Set = func(file string) (err error) {
		if err = check(file); err == nil {
			o.names, err = pmns.Load(file)
		}
		return err
	}
	point := func(variable *string) func(string) error {
		return func(value string) error { *variable = cmp.Or(value, "@today"); return nil }
	}
	start, finish := c.Standard("start")[0], c.Standard("finish")[0]
	start.Set, finish.Set = point(&o.window.Start), point(&o.window.Finish)
	c.AddOptions("Options",
		tool.Option{Short: 'l', Long: "label", Help: "print the archive label", Set: tool.Flag(&o.label)},
		tool.Option{Short: 'm', Long: "metadataonly", Help: "skip checking log data volumes", Set: tool.Flag(&o.metaOnly)},
		names, start, finish,
		tool.Option{Short: 'v', Long: "verbose", Help: "verbose output", Set: func(string) error { o.verbose++; return nil }},
		tool.Option{Short: 'w', Long: "nowrap", Help: "suppress counter wrap warnings", Set: tool.Flag(&o.noWraps)})
	c.Options = append(c.Options, c.Standard("timezone", "hostzone", "debug", "help")...)
	return c
}

// run checks what the command line asks for.
func run(ctx context.Context, c *tool.Command, o *options, errs *bufio.Writer) error {
	args, err := c.Parse(os.Args[1:])
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return c.UsageErrorf("Error: no archive specified\n\n")
	}
	k := &checker{options: o, errs: errs}
	defer k.close()
	if err := k.findFiles(args[0]); err != nil {
		return err
	}
	if fatal := k.checkFiles(ctx); fatal {
		if k.verbose > 0 {
			k.printf("Due to earlier errors, cannot continue ... bye\n")
		}
		return failed
	}
	if err := k.open(ctx, c); err != nil {
		return err
	}
	k.checkIndex()
	k.checkMetadata()
	if k.metaOnly {
		return nil
	}
	return k.checkValues()
}

// failed is how pmlogcheck ends after it has reported what is wrong.
var failed = &tool.ExitError{Status: 1}
