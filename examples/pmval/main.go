// Pmval prints the values of one metric, again and again. It takes what pmval(1) of PCP takes, for live collectors.
package main

import (
	"bufio"
	"context"
	"os"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const (
	defaultInterval = time.Second
	maxWidth        = 1 << 20 // of a column; nobody wants one of gigabytes
)

// A command is the command line.
type command struct {
	tool.Command
	style     style
	raw       bool     // no rates of counters
	delay     bool     // between the samples of an archive
	instances []string // as they are named; nil for all
	filter    *string  // what to store first
}

func newCommand() *command {
	c := &command{style: style{digits: -1}}
	c.Command = tool.Command{Name: "pmval", Synopsis: "[options] metricname", ZoneNote: true, LateHost: true, HighRes: true}
	archive := c.Standard("archive")[0].Set
	ignored := func(string) error { return nil }
	c.Options = slices.Concat(
		tool.Heading("General options"),
		c.Standard("align", "archive", "debug", "guimode", "host", "namespace", "origin", "guiport", "start", "samples",
			"finish", "interval", "timezone", "hostzone", "version", "help", "spec-local", "local-PMDA", "container", "derived"),
		tool.Heading("Reporting options"),
		[]getopt.Option{
			{Short: 'd', Long: "delay", Help: "delay, pause between updates for archive replay", Set: tool.Flag(&c.delay)},
			{Short: 'f', Long: "precision", Arg: "N", Help: "fixed output format with N digits precision",
				Set: tool.Number(&c.style.digits, 0, "-f requires +ve numeric argument")},
			{Short: 'i', Long: "instances", Arg: "INST", Help: "comma-separated metrics instance list", Set: c.addInstances},
			{Short: 'r', Long: "raw", Help: "output raw counter values (no rate conversion)", Set: tool.Flag(&c.raw)},
			{Short: 'U', Long: "nointerp", Arg: "FILE", Help: "non-interpolated fetching; ignores interval", Set: archive},
			{Short: 'v', Long: "verbose", Help: "increase diagnostic output", Set: ignored},
			{Short: 'w', Long: "width", Arg: "N", Help: "set the width of each column of output",
				Set: tool.Number(&c.style.width, 1, "-w requires +ve numeric argument")},
			{Short: 'x', Long: "filter", Arg: "VALUE", Help: "store to the metric before fetching (filter)",
				Set: func(v string) error { c.filter = &v; return nil }},
			// Only rows of archives have a time.
			{Short: 'X', Long: "timestamp", Help: "include date and microseconds in reported timestamps", Set: ignored},
		})
	return c
}

func (c *command) addInstances(list string) error {
	c.instances = append(c.instances, splitInstances(list)...)
	if c.instances == nil {
		c.instances = []string{}
	}
	return nil
}

func main() {
	ctx := context.Background()
	c := newCommand()
	spec := c.metric(c.Parse(os.Args[1:]))
	pc := c.Dial(ctx, spec.Source)
	defer pc.Close()
	identify(ctx, pc)
	c.Start(ctx, pc)
	m := c.find(ctx, pc, spec)
	if c.filter != nil {
		c.store(ctx, m)
	}
	p := c.printer(ctx, m)
	defer p.out.Flush()
	p.header()
	p.run(ctx)
}

// metric takes the operand: a metric, which may bring its source and its instances.
func (c *command) metric(operands []string) pmapi.MetricSpec {
	switch {
	case len(operands) == 0:
		c.Usage("pmval: error - no metricname specified\n")
	case len(operands) > 1:
		c.Usage("pmval: error - too many arguments\n")
	}
	spec, err := pmapi.ParseMetricSpec(operands[0], pmapi.SourceHost, c.Source())
	switch {
	case err != nil:
		c.Usage("%v\n", err)
	case spec.Kind == pmapi.SourceArchive:
		c.Fatal("archives are not supported by this version")
	case spec.Kind == pmapi.SourceLocal:
		c.Fatal("local contexts are not supported by this version")
	case c.delay:
		c.Usage("pmval: delay can only be used with archives\n")
	}
	return spec
}

// printer prepares the report.
func (c *command) printer(ctx context.Context, m *metric) *printer {
	p := &printer{
		metric: m, out: bufio.NewWriter(os.Stdout), errs: os.Stderr, fatal: c.Fatal,
		style: c.style, rates: m.desc.Sem == pdu.SemCounter && !c.raw,
		host: m.pc.HostName(ctx), zone: c.Location, noted: c.ZoneSet || c.HostZone, samples: c.Samples, interval: c.Interval, end: c.End,
	}
	p.style.width = min(p.style.width, maxWidth)
	if p.interval == 0 {
		p.interval = defaultInterval
	}
	if p.samples < 0 && !c.End.IsZero() {
		p.samples = max(0, int(c.End.Sub(c.Begin).Seconds()/p.interval.Seconds()+1))
	}
	_, p.wrap = os.LookupEnv("PCP_COUNTER_WRAP")
	return p
}
