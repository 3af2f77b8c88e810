// Pcp-free prints the size of a host's memory and how much of it is used. Options, output and exit
// status are those of pcp-free of PCP, which "pcp free" runs.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A command is the command line.
type command struct {
	pcptool.Command
	layout
	count    int           // 0 without
	interval time.Duration // 0 without
}

func main() {
	pcptool.LimitMemory()
	c := newCommand()
	out := bufio.NewWriter(os.Stdout)
	err := run(context.Background(), c, out)
	status := pmcc.Report(out, &c.Command, err, 0)
	out.Flush()
	os.Exit(status)
}

func newCommand() *command {
	c := &command{Command: pcptool.Command{Name: "pcp-free", Synopsis: "[options]", HighRes: true}, layout: layout{shift: 10}}
	scale := func(short byte, long, help string, shift uint) tool.Option {
		return tool.Option{Short: short, Long: long, Help: help, Set: func(string) error {
			c.shift = shift
			return nil
		}}
	}
	setCount := tool.Number(&c.count, 0, "sample count must be a positive numeric argument")
	setInterval := func(value string) error {
		d, err := pmapi.ParseInterval(value)
		if err != nil {
			return errors.New("interval argument not in pmParseHighResInterval(3) format:\n" + pcptool.SyntaxError(err).Error() + "\n")
		}
		c.interval = d
		return nil
	}
	c.AddOptions("Options",
		scale('b', "bytes", "show output in bytes", 0),
		scale('k', "kilobytes", "show output in KB", 10),
		scale('m', "megabytes", "show output in MB", 20),
		scale('g', "gigabytes", "show output in GB", 30),
		scale('r', "terabytes", "show output in TB", 40),
		tool.Option{Short: 'o', Help: "use old format (-/+buffers/cache line)", Set: tool.Flag(&c.old)},
		tool.Option{Short: 'l', Long: "lohi", Help: "show detailed low and high memory statistics", Set: tool.Flag(&c.lowHigh)},
		tool.Option{Short: 't', Long: "total", Help: "display total for RAM + swap", Set: tool.Flag(&c.total)},
		tool.Option{Short: 'w', Long: "wide", Set: tool.Flag(&c.wide)},
		tool.Option{Short: 'c', Long: "count", Arg: "COUNT", Help: "repeat printing COUNT times, then exit", Set: setCount},
		tool.Option{Short: 'c', Long: "samples", Arg: "COUNT", Help: "number of samples (alias for --count)", Set: setCount},
		tool.Option{Short: 's', Long: "seconds", Arg: "DELTA", Help: "repeat printing every DELTA seconds", Set: setInterval},
		tool.Option{Short: 's', Long: "interval", Arg: "DELTA", Help: "sampling interval (alias for --seconds)", Set: setInterval})
	c.Options = append(c.Options, c.Standard("version", "help")...)
	return c
}

// run prints the reports: one without -s and -c, and an unlimited number with -s alone.
func run(ctx context.Context, c *command, out *bufio.Writer) error {
	if _, err := c.Parse(os.Args[1:]); err != nil {
		return err
	}
	pc, err := pmcc.Open(ctx, &c.Command, pmapi.ModeInterp, cmp.Or(c.interval, c.Interval, time.Second))
	if err != nil {
		return err
	}
	defer pc.Close()
	metrics := pmcc.Metrics{Names: metricNames[:]}
	count := c.count
	if count == 0 && c.interval == 0 {
		count = 1
	}
	var r pdu.Result
	for n := 1; ; n++ {
		if err := metrics.Fetch(ctx, pc, &r); err != nil {
			return err
		}
		c.print(out, valuesOf(&r, metrics.Descs))
		if c.interval > 0 {
			out.WriteByte('\n')
		}
		if err := out.Flush(); err != nil || n == count {
			return err
		}
		if !pcptool.IsArchive(pc) {
			time.Sleep(c.interval)
		}
	}
}
