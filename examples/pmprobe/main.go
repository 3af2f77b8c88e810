// Pmprobe prints one line for each metric, for scripts: whether it has values, how many, and of
// which instances.
//
//	pmprobe -v kernel.all            # with the values
//	pmprobe -I disk.dev.read         # with the names of the instances
//	pmprobe -a 20261123 -f -I disk   # of all instances that an archive ever had
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A probe is what the options ask for, and with what it is printed.
type probe struct {
	batch              int
	leaves             bool // the names given are metrics
	whole              bool // list the instances of the domain, not those of the values
	external, internal bool // names and numbers of instances
	values, counts     bool

	ctx      context.Context
	command  *pcptool.Command
	pc       *pmapi.Context
	out      *bufio.Writer
	format   pdu.ValueFormat
	counters pdu.Counters
	buf      []byte
}

func main() {
	pcptool.LimitMemory()
	p := &probe{batch: 128, out: bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))}
	c := p.newCommand()
	os.Exit(c.Report(p.run(context.Background(), c)))
}

// run prints what the command line asks for.
func (p *probe) run(ctx context.Context, c *pcptool.Command) error {
	args, err := c.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	p.ctx, p.command = ctx, c
	p.pc, err = c.Open(ctx, func(d *pmapi.Dialer) { d.Counters = &p.counters })
	if err != nil {
		return err
	}
	defer p.pc.Close()
	// On collectors, -z and -Z have no effect, as in pmprobe(1).
	p.format.Location = tool.LocalZone()
	if pcptool.IsArchive(p.pc) {
		if err := c.SetTimes(ctx, p.pc); err != nil {
			return err
		}
		p.format.Location = c.Location
		p.batch = 1 // each metric of the first record that has it
	}
	p.probeAll(args)
	if p.counts {
		p.printCounts()
	}
	return p.out.Flush()
}

func (p *probe) newCommand() *pcptool.Command {
	c := &pcptool.Command{Name: "pmprobe", Synopsis: "[options] [metricname ...]", ZoneNote: true, OriginOnly: true,
		Local: dso.Local("pmprobe")}
	// The usage message gives --version a letter that the program does not accept.
	version := c.Standard("version")[0]
	version.Short, version.Help = 0, ""
	letter := tool.Option{Short: 'd', Long: "version", Help: "display version number and exit", Exact: true,
		Set: func(string) error { return errors.New("invalid option -- 'd'") }}
	c.AddOptions("General options", slices.Concat(
		c.Standard("archive", "debug", "host", "container", "derived", "local-PMDA", "spec-local", "namespace", "origin", "timezone", "hostzone"),
		[]tool.Option{version, letter}, c.Standard("help"))...)
	c.AddOptions("Protocol options",
		tool.Option{Short: 'b', Long: "batch", Arg: "N", Help: "fetch at most N metrics at a time [128]",
			Set: tool.Number(&p.batch, 1, "-b requires numeric argument")})
	c.AddOptions("Reporting options",
		tool.Option{Short: 'e', Set: func(string) error { return tool.ErrUsage }},
		tool.Option{Short: 'f', Long: "force", Help: "report all pmGetIndom or pmGetInDomArchive instances", Set: tool.Flag(&p.whole)},
		tool.Option{Short: 'F', Long: "faster", Help: "assume given metric names are PMNS leaf nodes", Set: tool.Flag(&p.leaves)},
		tool.Option{Short: 'I', Long: "external", Help: "list external instance names", Set: p.listFlag(&p.external, "at most one of -I and -v allowed")},
		tool.Option{Short: 'i', Long: "internal", Help: "list internal instance numbers", Set: p.listFlag(&p.internal, "at most one of -i and -v allowed")},
		tool.Option{Short: 'V', Long: "verbose", Help: "report PDU operations (verbose)", Set: tool.Flag(&p.counts)},
		tool.Option{Short: 'v', Long: "values", Help: "list metric values", Set: func(string) error {
			p.values = true
			if p.internal || p.external {
				return errors.New("at most one of -v and (-i or -I) allowed")
			}
			return nil
		}})
	return c
}

// listFlag makes the Set of an option that lists instances, which -v does not go with.
func (p *probe) listFlag(variable *bool, complaint string) func(string) error {
	return func(string) error {
		*variable = true
		if p.values {
			return errors.New(complaint)
		}
		return nil
	}
}

// printCounts prints how many PDUs of each kind were sent and received. Like pmprobe(1) it leaves
// out the last kind.
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
