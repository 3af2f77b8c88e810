// Pmprobe tells in one line each whether metrics have values, how many, and of which instances: output for scripts.
//
//	pmprobe -v kernel.all            # with the values
//	pmprobe -I disk.dev.read         # with the names of the instances
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A probe is what the options ask for, and who asks.
type probe struct {
	batch              int
	leaves             bool // the names given are those of metrics
	whole              bool // instances are those of the domain, not those of the values
	external, internal bool // names and numbers of instances
	values, counts     bool

	ctx      context.Context
	pc       *pmapi.Context
	out      *bufio.Writer
	format   pmapi.ValueFormat
	counters pdu.Counters
}

func main() {
	p := &probe{batch: 128, ctx: context.Background(), out: bufio.NewWriter(os.Stdout)}
	c := p.command()
	args := c.Parse(os.Args[1:])
	p.pc = c.Dial(p.ctx, c.Source())
	// -z and -Z are taken, and have no effect.
	p.format.Location = tool.LocalZone()
	p.all(args)
	if p.counts {
		p.printCounts()
	}
	p.out.Flush()
}

func (p *probe) command() *tool.Command {
	c := &tool.Command{Name: "pmprobe", Synopsis: "[options] [metricname ...]", Counters: &p.counters}
	// The usage message has a letter for the version that is none.
	version := c.Standard("version")
	version[0].Short, version[0].Help = 0, ""
	version = append(version, getopt.Option{Short: 'd', Long: "version", Help: "display version number and exit", Exact: true,
		Set: func(string) error { return errors.New("invalid option -- 'd'") }})
	c.Options = slices.Concat(
		tool.Heading("General options"),
		c.Standard("archive", "debug", "host", "container", "derived", "local-PMDA", "spec-local", "namespace", "origin", "timezone", "hostzone"),
		version, c.Standard("help"),
		tool.Heading("Protocol options"),
		[]getopt.Option{
			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch at most N metrics at a time [128]",
				Set: tool.Number(&p.batch, 1, "-b requires numeric argument")},
		},
		tool.Heading("Reporting options"),
		[]getopt.Option{
			{Short: 'e', Set: getopt.Usage},
			{Short: 'f', Long: "force", Help: "report all pmGetIndom or pmGetInDomArchive instances", Set: tool.Flag(&p.whole)},
			{Short: 'F', Long: "faster", Help: "assume given metric names are PMNS leaf nodes", Set: tool.Flag(&p.leaves)},
			{Short: 'I', Long: "external", Help: "list external instance names", Set: p.list(&p.external, "at most one of -I and -v allowed")},
			{Short: 'i', Long: "internal", Help: "list internal instance numbers", Set: p.list(&p.internal, "at most one of -i and -v allowed")},
			{Short: 'V', Long: "verbose", Help: "report PDU operations (verbose)", Set: tool.Flag(&p.counts)},
			{Short: 'v', Long: "values", Help: "list metric values", Set: func(string) error {
				p.values = true
				if p.internal || p.external {
					return errors.New("at most one of -v and (-i or -I) allowed")
				}
				return nil
			}},
		})
	return c
}

// list is the Set of an option that lists instances.
func (p *probe) list(to *bool, complaint string) func(string) error {
	return func(string) error {
		*to = true
		if p.values {
			return errors.New(complaint)
		}
		return nil
	}
}

// printCounts prints how many PDUs of each kind were sent and received, but for the last, as pmprobe(1) does.
func (p *probe) printCounts() {
	var line [2]string // received and sent
	for k := pdu.KindError; k < pdu.KindDescs; k++ {
		in, out := p.counters.Count(k)
		line[0] += fmt.Sprintf(" %3d", in)
		line[1] += fmt.Sprintf(" %3d", out)
	}
	in, out := p.counters.Total()
	fmt.Fprintf(p.out, "PDUs send%s\nTotal: %d\nPDUs recv%s\nTotal: %d\n", line[1], out, line[0], in)
}
