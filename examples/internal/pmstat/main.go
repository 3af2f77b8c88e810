// Package pmstat is the command of that name.
package pmstat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const defaultInterval = 5 * time.Second

// A command is the command line.
type command struct {
	pcptool.Command
	pause    bool // between the samples of archives
	suffix   bool // the ends of host names, not their beginnings
	extended bool // what processors wait for has columns of its own
	wrap     bool // a counter that has gone back has passed its greatest value

	swapsProcesses bool // some source may count processes that are swapped, and not pages
}

func newCommand() *command {
	c := &command{Command: pcptool.Command{Name: "pmstat", Synopsis: "[options]", Multi: true, ZoneNote: true, TimeControlled: true, Local: dso.Local("pmstat")}}
	c.AddOptions("General options", c.Standard("align", "archive", "debug", "guimode", "host", "namespace", "origin", "guiport",
		"start", "samples", "finish", "interval", "timezone", "hostzone", "version", "help")...)
	c.AddOptions("Alternate sources", c.Standard("hostsfile", "local-PMDA")...)
	c.AddOptions("Reporting options",
		tool.Option{Short: 'l', Long: "suffix", Help: "print last 7 characters of the host name(s)", Set: tool.Flag(&c.suffix)},
		tool.Option{Short: 'P', Long: "pause", Help: "pause between updates for archive replay", Set: tool.Flag(&c.pause)},
		tool.Option{Short: 'x', Long: "xcpu", Help: "extended CPU statistics reporting", Set: tool.Flag(&c.extended)})
	_, c.wrap = os.LookupEnv("PCP_COUNTER_WRAP")
	return c
}

// Main is the command pmstat; it does not return.
func Main() {
	pcptool.LimitMemory()
	c := newCommand()
	os.Exit(c.Report(run(context.Background(), c)))
}

// run prints the report of the command line.
func run(ctx context.Context, c *command) error {
	if err := c.parse(); err != nil {
		return err
	}
	sources, err := c.open(ctx)
	defer func() {
		for _, s := range sources {
			s.pc.Close()
		}
	}()
	if err != nil {
		return err
	}
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	r := &report{
		command: c, out: bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout)), sources: sources,
		several: len(sources) > 1, samples: c.samples(), rows: headerRows(),
	}
	defer r.out.Flush()
	if c.UsesTimeControl() {
		if err := r.followTimeControl(ctx); err != nil {
			return err
		}
		defer r.control.Conn.Close()
	} else if err := c.setMode(ctx, sources); err != nil {
		return err
	}
	return r.print(ctx)
}

// parse parses the command line. Errors of operands and -P are reported after errors of other
// options.
func (c *command) parse() error {
	operands, err := c.Parse(os.Args[1:])
	exit, failed := errors.AsType[*pcptool.ExitError](err)
	if failed && (exit.Status == 0 || errors.Is(err, errors.ErrUnsupported)) {
		return err
	}
	wrong := ""
	if len(operands) > 0 {
		wrong += "pmstat: too many options\n"
	}
	if c.pause && len(c.Archives()) == 0 {
		wrong += "pmstat: -P can only be used with archives\n"
	}
	switch {
	case failed && errors.Is(err, tool.ErrUsage):
		exit.Message = strings.TrimSuffix(exit.Message, c.Usage()) + wrong + c.Usage()
	case failed:
		exit.Message += wrong
	case wrong != "":
		return c.UsageErrorf("%s", wrong)
	}
	return err
}

// open opens the sources that have any of the metrics. The first of them sets the times.
func (c *command) open(ctx context.Context) (sources []*source, err error) {
	kind, names := c.sourceNames()
	for _, name := range names {
		pc, err := c.OpenSource(ctx, kind, name)
		shown := []string{name}
		if kind == pmapi.SourceLocal && len(c.Hosts()) == 0 { // pmstat(1) tries it by two names
			shown = []string{"local:", noName}
		}
		if err != nil && kind == pmapi.SourceHost && len(c.Hosts()) == 0 { // the agents on this computer do without a collector
			kind, shown = pmapi.SourceLocal, []string{noName}
			pc, err = c.OpenSource(ctx, kind, name)
		}
		switch {
		case err == nil:
		case len(shown) > 1:
			printNoMetrics(noName)
			continue
		default:
			c.reportOpenError(err)
			continue
		}
		s := &source{pc: pc, command: c, isArchive: kind == pmapi.SourceArchive}
		if !s.find(ctx) {
			printNoMetrics(shown...)
			pc.Close()
			continue
		}
		s.node = terminal.EscapeName(pc.HostName(ctx))
		sources = append(sources, s)
		if len(sources) == 1 {
			if err := c.SetTimes(ctx, pc); err != nil {
				return sources, err
			}
		}
	}
	if len(sources) == 0 {
		return nil, c.Errorf("No place to get data from!")
	}
	return sources, nil
}

// noName is the name that pmstat(1) prints for a local context in place of a collector.
const noName = "(null)"

// sourceNames returns the names of the sources, which are all of one kind.
func (c *command) sourceNames() (kind pmapi.SourceKind, names []string) {
	kind, name := c.Source()
	switch {
	case kind == pmapi.SourceArchive:
		return kind, uniqueNames(c.Archives())
	case len(c.Hosts()) > 0:
		return kind, c.Hosts()
	}
	return kind, []string{name}
}

// printNoMetrics reports that a source lacks all of the metrics.
func printNoMetrics(names ...string) {
	for _, name := range names {
		fmt.Fprintf(os.Stderr, "pmstat: %s: Cannot resolve any metrics.\n", terminal.Escape(name))
	}
}

// setMode makes all archives be read at the interval from the origin on. Like PCP's pmstat it steps
// by whole milliseconds.
func (c *command) setMode(ctx context.Context, sources []*source) error {
	step := c.Interval.Truncate(time.Millisecond)
	for _, s := range sources {
		if s.isArchive {
			if err := s.pc.SetMode(ctx, pmapi.ModeInterp, c.Origin, step); err != nil {
				return err
			}
		}
	}
	return nil
}

// uniqueNames removes repeated names.
func uniqueNames(names []string) (unique []string) {
	for _, name := range names {
		if !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	return unique
}

// reportOpenError prints the error of a source that cannot be opened.
func (c *command) reportOpenError(err error) {
	exit, ok := errors.AsType[*pcptool.ExitError](err)
	if !ok || errors.Is(err, errors.ErrUnsupported) {
		c.Report(err)
		return
	}
	c.Report(exit.WithMessage(fmt.Sprintf("pmstat: Cannot create fetchgroup: %v\n", pcptool.Cause(err))))
}

// samples returns the number of samples to print, 0 for no limit. It is the larger of -s and the
// number of samples before the time of -T. The interval has the precision of PCP's pmstat, which
// finds 9 samples of 0.3 seconds in 3 seconds.
func (c *command) samples() int {
	n := max(c.Samples, 0)
	if c.FinishGiven {
		n = max(n, int(c.End.Sub(c.Origin).Seconds()/float64(float32(c.Interval.Seconds()))))
	}
	return n
}
