// Package pmval prints the values of one metric repeatedly, live or from an archive. It is the
// programs pmval and pmevent, which are one program in PCP too.
package pmval

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const (
	defaultInterval = time.Second
	maxWidth        = 1 << 20 // of a column; nobody wants one of gigabytes
)

// A command is the command line.
type command struct {
	pcptool.Command
	column    Column
	raw       bool     // print counters, not their rates
	delay     bool     // pause between the samples of an archive
	recorded  bool     // print the values of an archive as they were recorded
	stamps    int      // how often -X was given
	instances []string // of -i; nil without
	filter    *string  // the value to store before fetching
}

func newCommand(name string) *command {
	c := &command{column: Column{Precision: -1}}
	c.Command = pcptool.Command{Name: name, Synopsis: "[options] metricname", ZoneNote: true, OperandSource: true, HighRes: true,
		TimeControlled: true, Local: dso.Local(name), LocalError: "Cannot establish local context"}
	c.AddOptions("General options", c.Standard("align", "archive", "debug", "guimode", "host", "namespace", "origin", "guiport",
		"start", "samples", "finish", "interval", "timezone", "hostzone", "version", "help", "spec-local", "local-PMDA",
		"container", "derived")...)
	c.AddOptions("Reporting options",
		tool.Option{Short: 'd', Long: "delay", Help: "delay, pause between updates for archive replay", Set: tool.Flag(&c.delay)},
		tool.Option{Short: 'f', Long: "precision", Arg: "N", Help: "fixed output format with N digits precision",
			Set: tool.Number(&c.column.Precision, 0, "-f requires +ve numeric argument")},
		tool.Option{Short: 'i', Long: "instances", Arg: "INST", Help: "comma-separated metrics instance list", Set: c.addInstances},
		tool.Option{Short: 'r', Long: "raw", Help: "output raw counter values (no rate conversion)", Set: tool.Flag(&c.raw)},
		tool.Option{Short: 'U', Long: "nointerp", Arg: "FILE", Help: "non-interpolated fetching; ignores interval",
			Set: c.setRecorded},
		tool.Option{Short: 'v', Long: "verbose", Help: "increase diagnostic output"},
		tool.Option{Short: 'w', Long: "width", Arg: "N", Help: "set the width of each column of output",
			Set: tool.Number(&c.column.Width, 1, "-w requires +ve numeric argument")},
		tool.Option{Short: 'x', Long: "filter", Arg: "VALUE", Help: "store to the metric before fetching (filter)",
			Set: func(v string) error { c.filter = &v; return nil }},
		// Only the rows of archives have timestamps.
		tool.Option{Short: 'X', Long: "timestamp", Help: "include date and microseconds in reported timestamps",
			Set: func(string) error { c.stamps++; return nil }})
	return c
}

func (c *command) addInstances(list string) error {
	c.instances = append(c.instances, pcptool.SplitInstances(list)...)
	if c.instances == nil {
		c.instances = []string{}
	}
	return nil
}

func (c *command) setRecorded(archive string) error {
	c.recorded = true
	return c.Standard("archive")[0].Set(archive)
}

// Main runs the program under a name, which messages use, and returns its exit status.
func Main(name string) (status int) {
	pcptool.LimitMemory()
	c := newCommand(name)
	return c.Report(run(context.Background(), c))
}

// run prints the report of the command line.
func run(ctx context.Context, c *command) error {
	operands, err := c.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	spec, err := c.metricSpec(operands)
	if err != nil {
		return err
	}
	pc, err := c.OpenSource(ctx, spec.Kind, spec.Source)
	if err != nil {
		return err
	}
	defer pc.Close()
	if spec.Kind == pmapi.SourceHost {
		pcptool.Identify(ctx, pc, os.Args)
	}
	if err := c.SetTimes(ctx, pc); err != nil {
		return err
	}
	m, err := c.find(ctx, pc, spec)
	if err != nil {
		return err
	}
	if c.filter != nil && spec.Kind == pmapi.SourceHost {
		if err := c.store(ctx, m); err != nil {
			return err
		}
	}
	p := c.printer(ctx, m)
	defer p.out.Flush()
	if spec.Kind == pmapi.SourceArchive {
		if err := p.openArchive(ctx, spec.Source); err != nil {
			return err
		}
	}
	if c.UsesTimeControl() {
		if err := p.followTimeControl(ctx); err != nil {
			return err
		}
		defer p.control.Conn.Close()
	}
	if err := p.printHeader(); err != nil {
		return err
	}
	return p.printSamples(ctx)
}

// metricSpec parses the operand: a metric, optionally with a source and instances.
func (c *command) metricSpec(operands []string) (spec pmapi.MetricSpec, err error) {
	switch {
	case len(operands) == 0:
		return spec, c.UsageErrorf("%s: error - no metricname specified\n", c.Name)
	case len(operands) > 1:
		return spec, c.UsageErrorf("%s: error - too many arguments\n", c.Name)
	}
	spec, err = c.MetricSpec(operands[0])
	switch {
	case err == nil && c.delay && c.GUIMode():
		err = c.UsageErrorf("%s: guiflag cannot be used with delay\n", c.Name)
	case err != nil || spec.Kind == pmapi.SourceArchive:
	case c.recorded:
		err = c.UsageErrorf("%s: uninterpolated mode can only be used with archives", c.Name)
	case c.delay:
		err = c.UsageErrorf("%s: delay can only be used with archives\n", c.Name)
	}
	return spec, err
}

// printer makes the printer of the report.
func (c *command) printer(ctx context.Context, m *metric) *printer {
	p := &printer{
		command: c, metric: m, out: bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout)),
		host: terminal.EscapeName(m.pc.HostName(ctx)), interval: cmp.Or(c.Interval, defaultInterval),
	}
	p.describe()
	p.samples = c.Samples
	if !p.isEvents() { // of which a time window has any number
		p.samples = c.SampleCount(p.interval)
	}
	_, p.wrap = os.LookupEnv("PCP_COUNTER_WRAP")
	return p
}
