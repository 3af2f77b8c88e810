package pmtop

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const (
	defaultInterval = 2 * time.Second
	plainWidth      = 100 // of the view, if it is not on a terminal
)

// A Command is the command line of pmtop.
type Command struct {
	pcptool.Command
	batch     bool // print samples below each other, on a terminal too
	processes bool
}

// New returns a Command with its options.
func New() *Command {
	c := &Command{Command: pcptool.Command{Name: "pmtop", Synopsis: "[options] [metric ...]", Local: dso.Local("pmtop")}}
	c.AddOptions("General options", c.Standard("align", "archive", "debug", "host", "namespace", "origin", "start", "samples", "finish", "interval",
		"timezone", "hostzone", "version", "help", "derived")...)
	c.AddOptions("Alternate sources", c.Standard("local-PMDA", "spec-local", "container")...)
	c.AddOptions("Reporting options",
		tool.Option{Short: 'b', Long: "batch", Help: "print samples below each other, without a terminal's full screen", Set: tool.Flag(&c.batch)},
		tool.Option{Short: 'p', Long: "processes", Help: "show processes, too", Set: tool.Flag(&c.processes)})
	return c
}

// Run shows the view until the user quits.
func (c *Command) Run(ctx context.Context, args []string) error {
	operands, err := c.Parse(args)
	if err != nil {
		return err
	}
	pc, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer pc.Close()
	if err := c.SetTimes(ctx, pc); err != nil {
		return err
	}
	specs := make([]pmapi.MetricSpec, len(operands))
	for i, operand := range operands {
		if specs[i], err = c.MetricSpec(operand); err != nil {
			return err
		}
	}
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	s, err := newSampler(ctx, pc, specs, c.processes, c.Interval)
	if err != nil {
		return c.Errorf("%w", pcptool.Cause(err))
	}
	v := &view{location: c.Location, interval: c.Interval}
	if c.batch || !terminal.Is(os.Stdin) || !terminal.Is(os.Stdout) {
		return c.print(ctx, s, v)
	}
	return c.show(ctx, s, v)
}

// print prints samples below each other.
func (c *Command) print(ctx context.Context, s *sampler, v *view) error {
	width := plainWidth
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	out := bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))
	samples := c.SampleCount(c.Interval)
	wait := time.NewTimer(0)
	defer wait.Stop()
	if !s.archive {
		_, _ = s.next(ctx) // counters have rates from the second time on
		wait.Reset(min(c.Interval, firstGap))
	}
	for n := 0; samples < 0 || n < samples; n++ {
		if !s.archive {
			select {
			case <-ctx.Done():
				return nil
			case <-wait.C:
				wait.Reset(c.Interval)
			}
		}
		sample, err := c.sample(ctx, s, n)
		if errors.Is(err, pdu.ErrEOL) || ctx.Err() != nil {
			return nil
		} else if err != nil {
			if err = c.Errorf("%w", err); s.archive {
				return err
			}
			c.Report(err) // and the next time, there may be a connection again
			continue
		}
		if n > 0 {
			out.WriteByte('\n')
		}
		for _, l := range v.lines(sample, width, 0) {
			out.Write(append(l.appendTo(nil, width, false), '\n'))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// sample reads sample n.
func (c *Command) sample(ctx context.Context, s *sampler, n int) (*sample, error) {
	if s.archive {
		return s.seek(ctx, c.Origin.Add(time.Duration(n)*c.Interval))
	}
	return s.next(ctx)
}
