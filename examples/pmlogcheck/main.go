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

	"github.com/pcp-go/pcp/examples/internal/logcheck"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	o := new(logcheck.Options)
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

func newCommand(o *logcheck.Options) *pcptool.Command {
	c := &pcptool.Command{Name: "pmlogcheck", Synopsis: "[options] archive", OperandSource: true, OperandArchive: true, ZoneNote: true}
	c.AddOptions("Options",
		tool.Option{Short: 'l', Long: "label", Help: "print the archive label", Set: tool.Flag(&o.Label)},
		tool.Option{Short: 'm', Long: "metadataonly", Help: "skip checking log data volumes", Set: tool.Flag(&o.MetaOnly)})
	c.Options = append(c.Options, c.Standard("namespace", "start", "finish")...)
	c.Options = append(c.Options,
		tool.Option{Short: 'v', Long: "verbose", Help: "verbose output", Set: func(string) error { o.Verbose++; return nil }},
		tool.Option{Short: 'w', Long: "nowrap", Help: "suppress counter wrap warnings", Set: tool.Flag(&o.NoWraps)})
	c.Options = append(c.Options, // of later versions, whose usage message PCP 6.0.3 does not have
		tool.Option{Short: 'r', Set: func(string) error { o.Repair, o.Ask = true, true; return nil }},
		tool.Option{Short: 'R', Set: tool.Flag(&o.Repair)})
	c.Options = append(c.Options, c.Standard("timezone", "hostzone", "debug", "help")...)
	return c
}

// run checks the archives of the command line.
func run(ctx context.Context, c *pcptool.Command, o *logcheck.Options, errs *bufio.Writer) error {
	args, err := c.Parse(os.Args[1:])
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return c.UsageErrorf("Error: no archive specified\n\n")
	case len(c.Hosts()) > 0: // of the environment
		return c.Errorf("only one host or archive allowed")
	}
	return logcheck.Check(ctx, c, o, errs, args)
}
