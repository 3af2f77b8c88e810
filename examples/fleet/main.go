// Fleet shows live which of many hosts have the greatest load, or the greatest value of a metric or
// an expression. It runs until q or Ctrl-C is pressed. Keys 1 to 9 sort the hosts by a column, and
// r reverses the order. Hosts that are down, late or lack a metric are listed with the reason.
// Without a terminal, it prints rows. A column may be a derived metric of PCP_DERIVED_CONFIG or of
// PCP's directory.
//
//	fleet web1 web2 db1:44322
//	fleet -H hosts.txt -l 20 -m 'kernel.all.load["5 minute"]' -e 'net=network.interface.in.bytes'
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/examples/internal/fleetview"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	c := newCommand()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(c.Report(c.run(ctx, os.Args[1:])))
}

// A command is the command line.
type command struct {
	pcptool.Command
	columns []fleetview.Column
	hosts   int // that are shown
	order   fleetview.Order
	plain   bool
	column  int // from 1
}

func newCommand() *command {
	c := &command{Command: pcptool.Command{Name: "fleet", Synopsis: "[options] [host ...]", Multi: true}, hosts: 10, column: 1}
	c.AddOptions("General options", c.Standard("host-list", "hostsfile", "interval", "samples", "version", "help")...)
	c.AddOptions("Reporting options",
		tool.Option{Short: 'm', Long: "metric", Arg: "METRIC", Help: "add a column for a metric, with its instance in brackets if it has any",
			Set: func(text string) error { return c.addColumn(fleetview.ParseMetric(text)) }},
		tool.Option{Short: 'e', Long: "expr", Arg: "LABEL=EXPR", Help: "add a column for a derived metric",
			Set: func(text string) error { return c.addColumn(fleetview.ParseExpr(text, len(c.columns))) }},
		tool.Option{Short: 'l', Long: "lines", Arg: "N", Help: "show N hosts [10]", Set: tool.Number(&c.hosts, 1, "-l requires a positive number")},
		tool.Option{Short: 'k', Long: "key", Arg: "N", Help: "sort by the Nth column [1]", Set: tool.Number(&c.column, 1, "-k requires a positive number")},
		tool.Option{Short: 'r', Long: "reverse", Help: "show the hosts with the least values", Set: tool.Flag(&c.order.Reverse)},
		tool.Option{Short: 'p', Long: "plain", Help: "print rows on a terminal too", Set: tool.Flag(&c.plain)})
	return c
}

func (c *command) addColumn(column fleetview.Column, err error) error {
	c.columns = append(c.columns, column)
	return err
}

// run shows the hosts of the command line.
func (c *command) run(ctx context.Context, args []string) error {
	hosts, err := c.Parse(args)
	if err != nil {
		return err
	}
	if hosts = append(c.Hosts(), hosts...); len(hosts) == 0 {
		return c.UsageErrorf("fleet: no hosts\n")
	}
	if len(c.columns) == 0 {
		c.columns = fleetview.Defaults()
	}
	if c.order.Column = c.column - 1; c.column > len(c.columns) {
		return c.UsageErrorf("fleet: there is no column %d\n", c.column)
	}
	d, err := pmapi.DialerFromEnv()
	if err != nil {
		return c.Errorf("%v", err)
	}
	d.Derived = new(pmapi.Derived)
	if err := d.Derived.LoadEnv(); err != nil {
		slog.Warn("derived metrics", slog.Any("err", err))
	}
	f, err := fleetview.NewFleet(d, c.columns)
	if err := cmp.Or(err, f.Add(hosts...)); err != nil {
		return c.Errorf("%v", err)
	}
	if c.plain || !terminal.Is(os.Stdin) || !terminal.Is(os.Stdout) {
		return c.print(ctx, f)
	}
	return c.show(ctx, f)
}

// each calls do with a snapshot of each tick.
func (c *command) each(ctx context.Context, f *pmapi.Fleet[fleetview.Items], do func(s *fleetview.Snapshot) error) error {
	n := 0
	for tick := range f.Every(ctx, cmp.Or(c.Interval, time.Second)) {
		if err := do(fleetview.NewSnapshot(tick, c.columns)); err != nil {
			return err
		}
		if n++; n == c.Samples {
			break
		}
	}
	return nil
}

// print prints rows.
func (c *command) print(ctx context.Context, f *pmapi.Fleet[fleetview.Items]) error {
	out := bufio.NewWriter(os.Stdout)
	err := c.each(ctx, f, func(s *fleetview.Snapshot) error {
		for _, line := range s.Lines(fleetview.Layout{Hosts: c.hosts}, c.order) {
			out.Write(line)
			out.WriteByte('\n')
		}
		out.WriteByte('\n')
		return out.Flush()
	})
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// show draws a screen.
func (c *command) show(ctx context.Context, f *pmapi.Fleet[fleetview.Items]) error {
	t, err := terminal.Open(os.Stdin, os.Stdout)
	if err != nil {
		return c.Errorf("%v", err)
	}
	defer t.Close()
	ctx, cancel := context.WithCancel(ctx)
	snapshots := make(chan *fleetview.Snapshot)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		defer close(snapshots)
		defer t.CloseOnPanic()
		c.each(ctx, f, func(s *fleetview.Snapshot) error {
			select {
			case snapshots <- s:
			case <-ctx.Done():
			}
			return nil
		})
	})
	return fleetview.Show(ctx, t, c.hosts, c.order, snapshots)
}
