// Pmclient prints how busy a host is, or was according to an archive: its processors, memory, disks
// and load. Options, output and exit status are those of pmclient(1) of PCP.
package main

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const defaultInterval = 5 * time.Second

func main() {
	pcptool.LimitMemory()
	c := newCommand()
	os.Exit(c.Report(run(context.Background(), c)))
}

// A command is the command line.
type command struct {
	pcptool.Command
	pause bool // between the samples of an archive
}

func newCommand() *command {
	c := &command{Command: pcptool.Command{Name: "pmclient", Synopsis: "[options]", ZoneNote: true}}
	c.AddOptions("General options", c.Standard("align", "archive", "debug", "host", "namespace", "origin", "start", "samples",
		"finish", "interval", "timezone", "hostzone", "version", "help")...)
	c.AddOptions("Reporting options",
		tool.Option{Short: 'P', Long: "pause", Help: "pause between updates for archive replay", Set: tool.Flag(&c.pause)},
		// pmclient(1) accepts the letters of time control without an effect.
		tool.Option{Short: 'g'},
		tool.Option{Short: 'p', Arg: "N"})
	return c
}

// run prints the report of the command line.
func run(ctx context.Context, c *command) error {
	if _, err := c.Parse(os.Args[1:]); err != nil {
		return err
	}
	kind, source := c.Source()
	if c.pause && kind != pmapi.SourceArchive {
		return c.UsageErrorf("pmclient: pause can only be used with archives\n")
	}
	pc, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer pc.Close()
	if err := c.SetTimes(ctx, pc); err != nil {
		return err
	}
	interval := cmp.Or(c.Interval, defaultInterval)
	h := &host{pc: pc, command: c}
	if err := h.find(ctx); err != nil {
		return err
	}
	if kind == pmapi.SourceArchive {
		if err := h.rewind(ctx, interval); err != nil {
			return err
		}
	}
	r := &report{out: bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout)), host: terminal.EscapeName(pc.HostName(ctx)), zone: c.Location, cpus: h.cpus}
	if kind == pmapi.SourceArchive {
		r.archive = terminal.EscapeName(source)
	}
	return c.printRows(ctx, h, r, interval)
}

// printRows prints the report. The first sample has no row because rates need two samples.
func (c *command) printRows(ctx context.Context, h *host, r *report, interval time.Duration) error {
	var ticks <-chan time.Time
	if r.archive == "" || c.pause {
		ticker := time.NewTicker(interval) // keeps the interval however long a sample takes
		defer ticker.Stop()
		ticks = ticker.C
	}
	defer r.out.Flush()
	before, now := new(sample), new(sample)
	if err := h.fetch(ctx, before); err != nil {
		return err
	}
	for n := 0; c.Samples <= 0 || n < c.Samples; n++ {
		r.printHeader(n, before.Time)
		if ticks != nil {
			r.out.Flush()
			<-ticks
		}
		if err := h.fetch(ctx, now); err != nil {
			return err
		}
		r.printRow(usageOf(before, now, h.cpus))
		before, now = now, before
	}
	return nil
}
