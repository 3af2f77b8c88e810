// Package pminfo is the command of that name.
package pminfo

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// show selects what is printed of each metric. Its fields are the options.
type show struct {
	batch                      int
	descs, fullInDom           bool
	pmid, fullPMID             bool
	oneLine, help              bool
	labels, series             bool
	values, fetchAll, unpacked bool
	verify                     bool
}

// Main is the command pminfo; it does not return.
func Main() {
	pcptool.LimitMemory()
	s := &show{batch: 128}
	c := newCommand(s)
	status, err := run(context.Background(), c, s)
	if err != nil {
		status = c.Report(err)
	}
	os.Exit(status)
}

// run prints what the command line requests and returns the exit status.
func run(ctx context.Context, c *pcptool.Command, s *show) (status int, err error) {
	args, err := c.Parse(os.Args[1:])
	if err != nil {
		return 1, err
	}
	if s.verify {
		*s = show{batch: s.batch, verify: true}
	}
	out := bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))
	defer out.Flush() // after what -D prints of the context's end
	pc, err := c.Open(ctx)
	if err != nil {
		return 1, err
	}
	defer pc.Close()
	p := &printer{show: s, command: c, ctx: ctx, pc: pc, out: out}
	// On collectors, -z and -Z have no effect, as in pminfo(1).
	p.format.Location = tool.LocalZone()
	if p.archive = pcptool.IsArchive(pc); p.archive {
		if err := c.SetTimes(ctx, pc); err != nil {
			return 1, err
		}
		p.format.Location = c.Location
		p.batch = 1 // each metric of the first record that has it
	}
	return p.printAll(args), nil
}

func newCommand(s *show) *pcptool.Command {
	c := &pcptool.Command{Name: "pminfo", Synopsis: "[options] [metricname | pmid | indom]...", ZoneNote: true, OriginOnly: true, TrimNames: true,
		Local: dso.Local("pminfo")}
	flags := func(variables ...*bool) func(string) error {
		return func(string) error {
			for _, v := range variables {
				*v = true
			}
			return nil
		}
	}
	c.AddOptions("General options", c.Standard("archive", "debug", "host", "container", "local-PMDA", "spec-local", "namespace",
		"uniqnames", "origin", "timezone", "hostzone", "version", "help")...)
	c.AddOptions("Protocol options",
		tool.Option{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time for -f and -v [128]",
			Set: tool.Number(&s.batch, 0, "-b requires numeric argument")},
		tool.Option{Short: 'd', Long: "desc", Help: "get and print metric description", Set: flags(&s.descs)},
		tool.Option{Short: 'f', Long: "fetch", Help: "fetch and print values for all instances", Set: flags(&s.values)},
		tool.Option{Short: 'F', Long: "fetchall", Help: "fetch and print values for non-enumerable indoms", Set: flags(&s.values, &s.fetchAll)},
		tool.Option{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format", Set: flags(&s.descs, &s.fullInDom)},
		tool.Option{Short: 'l', Long: "labels", Help: "print InDom, metric and instance labels", Set: flags(&s.labels)},
		tool.Option{Short: 'm', Long: "pmid", Help: "print PMID", Set: flags(&s.pmid)},
		tool.Option{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format", Set: flags(&s.pmid, &s.fullPMID)},
		tool.Option{Short: 's', Long: "series", Help: "print source, metric, instance series identifiers", Set: flags(&s.series)},
		tool.Option{Short: 't', Long: "oneline", Help: "get and display (terse) oneline text", Set: flags(&s.oneLine)},
		tool.Option{Short: 'T', Long: "helptext", Help: "get and display (verbose) help text", Set: flags(&s.help)})
	derived := c.Standard("derived")[0]
	derived.Short, derived.Help = 'c', "load derived metric definitions from FILE(s)"
	derived.Set = func(path string) error {
		if err := c.LoadDerived(path); err != nil {
			fmt.Fprintf(os.Stderr, "pminfo: derived configuration(s) error: %v\n", pdu.FromError(err))
		}
		return nil
	}
	c.AddOptions("Metrics options", derived,
		tool.Option{Short: 'x', Long: "events", Help: "unpack and report on any fetched event records", Set: flags(&s.values, &s.unpacked)},
		tool.Option{Short: 'v', Long: "verify", Help: "verify mode, be quiet and only report errors", Set: flags(&s.verify)})
	return c
}

// printAll prints the metrics of the arguments, or all metrics. It returns the exit status, which
// is 1 if an argument names nothing.
func (p *printer) printAll(args []string) (status int) {
	if len(args) == 0 {
		names, err := p.pc.Traverse(p.ctx, "")
		if err != nil {
			fmt.Fprintf(os.Stderr, "Error: %v\n", pcptool.Cause(err))
			status = 1
		}
		p.addMetrics(names)
	}
	for _, arg := range args {
		if err := p.addArgument(arg); err != nil {
			fmt.Fprintf(os.Stderr, "Error: %s: %v\n", arg, pcptool.Cause(err))
			p.command.Hint(p.command.NameHint(p.ctx, p.pc, arg, err))
			status = 1
		}
	}
	p.printBatch()
	return status
}

// addArgument adds the metrics of a PMID or of a name, or prints an instance domain.
func (p *printer) addArgument(arg string) error {
	var domain, middle, item int
	var err error
	names := []string{arg}
	n := 0
	if arg != "" && scan.IsDigit(arg[0]) {
		n, _ = fmt.Sscanf(arg, "%d.%d.%d", &domain, &middle, &item)
	}
	switch n {
	case 3:
		names, err = p.pc.Names(p.ctx, pdu.MakePMID(pdu.Domain(domain), middle, item))
	case 2:
		p.printInDomain(pdu.MakeInDom(pdu.Domain(domain), middle))
		return nil
	}
	if err != nil {
		return err
	}
	// The first name of a PMID is used as if it were the argument.
	below, err := p.pc.Traverse(p.ctx, names[0])
	p.addMetrics(below)
	return err
}
