// Pmlogcheck checks the files of an archive: that records are complete, that the index leads to
// them, that descriptors make sense, and that times and counters do not decrease. It prints its
// findings on standard error.
//
//	pmlogcheck 20261123      # all checks
//	pmlogcheck -w 20261123   # no warnings about counters that have decreased
//	pmlogcheck 202611*.meta  # several archives, one after the other
//	pmlogcheck -R 20261123   # also repairs damaged files; -r asks before that
//	pmlogcheck -mv 20261123  # checks only structure, index and metadata, and logs each step
package main

import (
	"bufio"
	"context"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// options are the options of the command line.
type options struct {
	label    bool
	metaOnly bool
	verbose  int
	noWraps  bool
	repair   bool // what is damaged
	ask      bool // before that
}

func main() {
	o := new(options)
	c := newCommand(o)
	errs := bufio.NewWriter(terminal.NewEscapeWriter(os.Stderr))
	var notes strings.Builder
	if !terminal.Is(os.Stdout) { // where PCP's tool, too, prints notes at its end
		c.Stdout = &notes
	}
	err := run(context.Background(), c, o, errs)
	errs.Flush()
	status := c.Report(err)
	os.Stdout.WriteString(notes.String())
	os.Exit(status)
}

func newCommand(o *options) *pcptool.Command {
	c := &pcptool.Command{Name: "pmlogcheck", Synopsis: "[options] archive", OperandSource: true, OperandArchive: true, ZoneNote: true}
	c.AddOptions("Options",
		tool.Option{Short: 'l', Long: "label", Help: "print the archive label", Set: tool.Flag(&o.label)},
		tool.Option{Short: 'm', Long: "metadataonly", Help: "skip checking log data volumes", Set: tool.Flag(&o.metaOnly)})
	c.Options = append(c.Options, c.Standard("namespace", "start", "finish")...)
	c.Options = append(c.Options,
		tool.Option{Short: 'v', Long: "verbose", Help: "verbose output", Set: func(string) error { o.verbose++; return nil }},
		tool.Option{Short: 'w', Long: "nowrap", Help: "suppress counter wrap warnings", Set: tool.Flag(&o.noWraps)})
	c.Options = append(c.Options, // of later versions, whose usage message PCP 6.0.3 does not have
		tool.Option{Short: 'r', Set: func(string) error { o.repair, o.ask = true, true; return nil }},
		tool.Option{Short: 'R', Set: tool.Flag(&o.repair)})
	c.Options = append(c.Options, c.Standard("timezone", "hostzone", "debug", "help")...)
	return c
}

// run checks the archives of the command line.
func run(ctx context.Context, c *pcptool.Command, o *options, errs *bufio.Writer) error {
	args, err := c.Parse(os.Args[1:])
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return c.UsageErrorf("Error: no archive specified\n\n")
	case len(c.Hosts()) > 0: // of the environment
		return c.Errorf("only one host or archive allowed")
	}
	return checkAll(ctx, c, o, errs, args)
}

// checkAll checks the archives of all arguments, each once.
func checkAll(ctx context.Context, c *pcptool.Command, o *options, errs *bufio.Writer, args []string) error {
	checked := map[string]bool{} // several arguments may be files of one archive
	var bad error
	for _, arg := range args {
		base := archiveName(arg)
		if checked[base] {
			continue
		}
		checked[base] = true
		err := check(ctx, c, o, errs, arg)
		if err == nil {
			continue
		}
		errs.Flush()
		c.Report(err)
		bad = failed
	}
	return bad
}

// check checks the archive of an argument.
func check(ctx context.Context, c *pcptool.Command, o *options, errs *bufio.Writer, arg string) error {
	k := &checker{options: o, errs: errs}
	defer k.close()
	if err := k.findFiles(arg); err != nil {
		return err
	}
	fatal := k.checkFiles(ctx)
	if o.repair {
		mended, err := k.mend(ctx)
		if err != nil {
			return err
		}
		fatal = fatal && !mended
	}
	if fatal {
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

// failed ends pmlogcheck after it has reported faults.
var failed = &pcptool.ExitError{Status: 1}
