// Package pmiostat is the tool with the names pmiostat and pcp-iostat.
package pmiostat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/internal/pattern"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A command is the command line.
type command struct {
	pcptool.Command
	aggregate string // a method, "" for none
	precision int
	pattern   string
	selected  bool // devices, by the pattern
	records   bool // what archives have is printed, and not interpolated

	mappers, timestamps, noHeadings, noIdle bool
}

const extendedHelp = "comma separated extended options: [[dm],[t],[h],[noidle]]\n" +
	"\t\tdm\tshow device-mapper statistics (default is sd devices)\n" +
	"\t\tt\tprecede every line with a timestamp in ctime format\n" +
	"\t\th\tsuppress headings\n" +
	"\t\tnoidle\tdo not display idle devices"

func newCommand(name string) *command {
	c := &command{Command: pcptool.Command{Name: name, Synopsis: "[options]", HighRes: true}, precision: 2, pattern: ".*"}
	c.AddOptions("General options", c.Standard("align", "archive", "debug")...)
	add := func(o tool.Option) { c.Options = append(c.Options, o) }
	standard := func(names ...string) { c.Options = append(c.Options, c.Standard(names...)...) }
	add(tool.Option{Short: 'G', Long: "aggregate", Arg: "method", Help: "aggregate values for devices matching -R regex using 'method' (sum, avg, min or max)",
		Set: func(method string) error {
			c.aggregate = method
			return nil
		}})
	standard("host", "origin")
	add(tool.Option{Short: 'P', Long: "precision", Arg: "N", Help: "N digits after the decimal separator", Set: c.setPrecision})
	add(tool.Option{Short: 'R', Long: "regex", Arg: "pattern",
		Help: "only report for devices names matching pattern, e.g. 'sd[a-zA-Z]+'. See also -G.", Set: func(pattern string) error {
			c.pattern, c.selected = pattern, true
			return nil
		}})
	standard("start", "samples", "finish", "interval")
	add(tool.Option{Short: 'u', Long: "no-interpolation", Help: "disable interpolation mode with archives", Set: tool.Flag(&c.records)})
	standard("version", "timezone", "hostzone", "help")
	c.AddOptions("Extended options", tool.Option{Short: 'x', Arg: "LIST", Help: extendedHelp, Set: c.setExtended})
	return c
}

// setPrecision sets the number of digits. Like PCP's tool it ignores a value that is not a number.
func (c *command) setPrecision(value string) error {
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
		c.precision = n
	}
	return nil
}

func (c *command) setExtended(list string) error {
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		switch word {
		case "dm":
			c.mappers = true
		case "t":
			c.timestamps = true
		case "h":
			c.noHeadings = true
		case "noidle":
			c.noIdle = true
		}
	}
	return nil
}

// Main is the main function of a tool with a name.
func Main(name string) {
	pcptool.LimitMemory()
	c := newCommand(name)
	out := bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))
	ctx, stop := context.WithCancel(context.Background())
	if !signal.Ignored(os.Interrupt) { // as in the background of a script
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
	}
	defer stop()
	err := c.run(ctx, out)
	out.Flush()
	if ctx.Err() != nil {
		return // an interrupt ends it like the end of its samples
	}
	if failed, ok := errors.AsType[*fetchError](err); ok {
		fmt.Fprintf(os.Stderr, "%s: %v", name, failed)
		os.Exit(1)
	}
	os.Exit(pmcc.Report(os.Stderr, &c.Command, err, 1))
}

// A fetchError is the error of a fetch. Its message has no newline and the exit status is 1.
type fetchError struct{ err error }

func (e *fetchError) Error() string {
	return "pmFetch: " + terminal.Escape(pcptool.Cause(e.err).Error())
}

func (e *fetchError) Unwrap() error { return e.err }

// run prints the report of the command line.
func (c *command) run(ctx context.Context, out *bufio.Writer) error {
	if _, err := c.Parse(os.Args[1:]); err != nil {
		return err
	}
	mode := pmapi.ModeInterp
	if c.records {
		mode = pmapi.ModeForward
	}
	interval := cmp.Or(c.Interval, time.Second)
	pc, err := pmcc.Open(ctx, &c.Command, mode, interval)
	if err != nil {
		return err
	}
	defer pc.Close()
	if wrong := c.check(pc); wrong != "" {
		fmt.Fprintln(out, wrong)
		return c.UsageErrorf("")
	}
	r := &report{command: c, pc: pc, out: out}
	if c.selected {
		if r.devices, err = pattern.Compile(c.pattern); err != nil {
			return c.Errorf("%w", err)
		}
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	return r.print(ctx, interval)
}

// check returns the error of the options, or "".
func (c *command) check(pc *pmapi.Context) string {
	switch {
	case c.aggregate != "" && !slices.Contains([]string{"sum", "avg", "min", "max"}, c.aggregate):
		return "Error, -G aggregation method must be one of 'sum', 'avg', 'min' or 'max'"
	case c.precision < 0 || c.precision > 10:
		return "Precision value must be between 0 and 10"
	case c.records && c.Interval != 0:
		return "Error: -t incompatible with -u"
	case c.records && !pcptool.IsArchive(pc):
		return "Error: -u can only be specified with -a archive"
	}
	return ""
}

// print prints samples until the end of the archive, up to the number of -s, or up to the time of
// -T.
func (r *report) print(ctx context.Context, interval time.Duration) error {
	for n := 0; ; n++ {
		if err := r.fetch(ctx); err != nil {
			if errors.Is(err, pdu.ErrEOL) {
				return nil
			}
			return &fetchError{err}
		}
		if r.Samples <= 0 && r.FinishGiven && !r.now.time.Before(r.End) {
			return nil
		}
		if n > 0 {
			r.printSample()
			if err := r.out.Flush(); err != nil {
				return err
			}
		}
		if n > 0 && n == r.Samples {
			return nil
		}
		if !pcptool.IsArchive(r.pc) {
			select {
			case <-time.After(interval):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
