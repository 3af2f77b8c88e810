// Pmclient prints how busy a host is: its processors, memory, disks and load. It takes what pmclient(1) of PCP takes, for
// live collectors.
package main

import (
	"bufio"
	"context"
	"os"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const defaultInterval = 5 * time.Second

func main() {
	ctx := context.Background()
	c := &tool.Command{Name: "pmclient", Synopsis: "[options]", ZoneNote: true}
	pause := false
	ignored := func(string) error { return nil }
	c.Options = slices.Concat(
		tool.Heading("General options"),
		c.Standard("align", "archive", "debug", "host", "namespace", "origin", "start", "samples", "finish", "interval",
			"timezone", "hostzone", "version", "help"),
		tool.Heading("Reporting options"),
		[]getopt.Option{
			{Short: 'P', Long: "pause", Help: "pause between updates for archive replay", Set: tool.Flag(&pause)},
			// Time control, of which pmclient has no more than the letters.
			{Short: 'g', Set: ignored},
			{Short: 'p', Arg: "N", Set: ignored},
		})
	c.Parse(os.Args[1:])
	if pause {
		c.Usage("pmclient: pause can only be used with archives\n")
	}
	pc := c.Dial(ctx, c.Source())
	defer pc.Close()
	c.Start(ctx, pc)

	h := &host{pc: pc, fatal: c.Fatal}
	h.find(ctx)
	r := &report{out: bufio.NewWriter(os.Stdout), host: pc.HostName(ctx), zone: c.Location, cpus: h.cpus}
	interval := c.Interval
	if interval == 0 {
		interval = defaultInterval
	}
	ticks := time.NewTicker(interval) // they keep their distance however long a sample takes
	before, now := new(pdu.Result), new(pdu.Result)
	h.sample(ctx, before)
	for n := 0; c.Samples <= 0 || n < c.Samples; n++ {
		r.header(n, before.Time)
		r.out.Flush()
		<-ticks.C
		h.sample(ctx, now)
		r.row(h.usage(before, now))
		r.out.Flush()
		before, now = now, before
	}
}
