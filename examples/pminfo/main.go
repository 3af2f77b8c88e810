// Pminfo shows what there is to know of metrics: their names, descriptors, help texts, labels and values.
//
//	pminfo                           # the names of all metrics
//	pminfo -dT kernel.all.load       # what one of them is
//	pminfo -h web1 -f kernel.all     # values of several, on another host
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// show says what of each metric is wanted. Its fields are the options.
type show struct {
	batch                      int
	descs, fullInDom           bool
	pmid, fullPMID             bool
	oneLine, help              bool
	labels, series             bool
	values, fetchAll, unpacked bool
	verify                     bool
}

func main() {
	s := &show{batch: 128}
	c := command(s)
	args := c.Parse(os.Args[1:])
	if s.verify {
		*s = show{batch: s.batch, verify: true}
	}
	ctx := context.Background()
	pc := c.Dial(ctx, c.Source())
	out := bufio.NewWriter(os.Stdout)
	// -z and -Z are taken, and have no effect.
	p := &printer{show: s, ctx: ctx, pc: pc, out: out, format: pmapi.ValueFormat{Location: tool.LocalZone()}}
	status := p.all(args)
	out.Flush()
	os.Exit(status)
}

func command(s *show) *tool.Command {
	c := &tool.Command{Name: "pminfo", Synopsis: "[options] [metricname | pmid | indom]..."}
	flags := func(to ...*bool) func(string) error {
		return func(string) error {
			for _, f := range to {
				*f = true
			}
			return nil
		}
	}
	c.Options = slices.Concat(
		tool.Heading("General options"),
		c.Standard("archive", "debug", "host", "container", "local-PMDA", "spec-local", "namespace", "uniqnames", "origin", "timezone", "hostzone", "version", "help"),
		tool.Heading("Protocol options"),
		[]getopt.Option{
			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time for -f and -v [128]",
				Set: tool.Number(&s.batch, 0, "-b requires numeric argument")},
			{Short: 'd', Long: "desc", Help: "get and print metric description", Set: flags(&s.descs)},
			{Short: 'f', Long: "fetch", Help: "fetch and print values for all instances", Set: flags(&s.values)},
			{Short: 'F', Long: "fetchall", Help: "fetch and print values for non-enumerable indoms", Set: flags(&s.values, &s.fetchAll)},
			{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format", Set: flags(&s.descs, &s.fullInDom)},
			{Short: 'l', Long: "labels", Help: "print InDom, metric and instance labels", Set: flags(&s.labels)},
			{Short: 'm', Long: "pmid", Help: "print PMID", Set: flags(&s.pmid)},
			{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format", Set: flags(&s.pmid, &s.fullPMID)},
			{Short: 's', Long: "series", Help: "print source, metric, instance series identifiers", Set: flags(&s.series)},
			{Short: 't', Long: "oneline", Help: "get and display (terse) oneline text", Set: flags(&s.oneLine)},
			{Short: 'T', Long: "helptext", Help: "get and display (verbose) help text", Set: flags(&s.help)},
		},
		tool.Heading("Metrics options"),
		[]getopt.Option{
			{Short: 'c', Long: "derived", Arg: "FILE", Help: "load derived metric definitions from FILE(s)", Set: c.Derived},
			{Short: 'x', Long: "events", Help: "unpack and report on any fetched event records", Set: flags(&s.values, &s.unpacked)},
			{Short: 'v', Long: "verify", Help: "verify mode, be quiet and only report errors", Set: flags(&s.verify)},
		})
	return c
}

// all prints what the arguments name, or all metrics, and returns the exit status: 1 if one names nothing.
func (p *printer) all(args []string) (status int) {
	if len(args) == 0 {
		names, err := p.pc.Traverse(p.ctx, "")
		if err != nil {
			fmt.Fprintf(os.Stderr, "Error: %s\n", tool.Reason(err))
			return 1
		}
		p.add(names)
	}
	for _, arg := range args {
		if err := p.argument(arg); err != nil {
			fmt.Fprintf(os.Stderr, "Error: %s: %s\n", arg, tool.Reason(err))
			status = 1
		}
	}
	p.flush()
	return status
}

// argument takes a PMID, an instance domain or a name.
func (p *printer) argument(arg string) error {
	var domain, middle, item int
	var err error
	names := []string{arg}
	n := 0
	if arg != "" && arg[0] >= '0' && arg[0] <= '9' {
		n, _ = fmt.Sscanf(arg, "%d.%d.%d", &domain, &middle, &item)
	}
	switch n {
	case 3:
		names, err = p.pc.Names(p.ctx, pdu.MakePMID(pdu.Domain(domain), middle, item))
	case 2:
		p.inDom(pdu.MakeInDom(pdu.Domain(domain), middle))
		return nil
	}
	if err != nil {
		return err
	}
	// Of a PMID's names the first stands for it, as if it were the argument.
	below, err := p.pc.Traverse(p.ctx, names[0])
	if err != nil {
		return err
	}
	p.add(below)
	return nil
}
