// Package pmlogsummary is the command of that name.
package pmlogsummary

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// show selects what is printed. Its fields are the options.
type show struct {
	stochastic, average, sum     bool
	minimum, maximum             bool
	minimumTime, maximumTime     bool
	count, label, heading, warns bool
	bins                         int
	precision                    int
	delimiter                    byte
}

// Limits of the numbers in options.
const (
	maxPrecision = 1100    // more digits than any number has
	maxBins      = 1 << 20 // for each instance
)

// Main is the command pmlogsummary; it does not return.
func Main() {
	s := &show{average: true, precision: 3, delimiter: ' '}
	c := newCommand(s)
	out := bufio.NewWriterSize(terminal.NewEscapeWriter(os.Stdout), outBuffer)
	err := run(context.Background(), c, s, out)
	err = errors.Join(err, out.Flush())
	os.Exit(c.Report(err))
}

// outBuffer is the size of the output buffer in bytes.
const outBuffer = 64 << 10

func newCommand(s *show) *pcptool.Command {
	c := &pcptool.Command{Name: "pmlogsummary", Synopsis: "[options] archive [metricname ...]", OperandSource: true, OperandArchive: true, ZoneNote: true}
	flag := tool.Flag
	do := func(f func()) func(string) error {
		return func(string) error { f(); return nil }
	}
	names, start, finish := c.Standard("namespace")[0], c.Standard("start")[0], c.Standard("finish")[0]
	c.AddOptions("Options",
		tool.Option{Short: 'a', Long: "all", Help: "print all information (equivalent to -blmMy)", Set: do(s.all)},
		tool.Option{Short: 'b', Help: "print both stochastic and time averages for counter metrics",
			Set: do(func() { s.stochastic, s.average, s.sum = true, true, false })},
		tool.Option{Short: 'B', Long: "bins", Arg: "N", Help: "print value distribution across a number of bins", Set: s.setBins},
		tool.Option{Short: 'f', Help: "print using \"spreadsheet\" format (tab delimited fields)", Set: do(func() { s.delimiter = '\t' })},
		tool.Option{Short: 'F', Help: "print using \"spreadsheet\" format (comma separated values)", Set: do(func() { s.delimiter = ',' })},
		tool.Option{Short: 'H', Long: "header", Help: "print one-line header at start showing each column", Set: flag(&s.heading)},
		tool.Option{Short: 'i', Long: "mintime", Help: "also print timestamp for minimum value", Set: flag(&s.minimumTime)},
		tool.Option{Short: 'I', Long: "maxtime", Help: "also print timestamp for maximum value", Set: flag(&s.maximumTime)},
		tool.Option{Short: 'l', Long: "label", Help: "also print the archive label and time window", Set: flag(&s.label)},
		tool.Option{Short: 'm', Long: "minimum", Help: "also print minimum value", Set: flag(&s.minimum)},
		tool.Option{Short: 'M', Long: "maximum", Help: "also print maximum value", Set: flag(&s.maximum)},
		names,
		tool.Option{Short: 'N', Help: "suppress warnings from individual archive fetches (default)", Set: do(func() { s.warns = false })},
		tool.Option{Short: 'p', Long: "precision", Arg: "N", Help: "number of digits to display after the decimal point", Set: s.setPrecision},
		tool.Option{Short: 's', Long: "sum", Help: "only print the sum of all values of each metric", Set: do(s.onlySum)},
		start, finish,
		tool.Option{Short: 'v', Long: "verbose", Help: "verbose, enable warnings from individual archive fetches", Set: flag(&s.warns)},
		tool.Option{Short: 'x', Help: "print only stochastic averages for counter metrics",
			Set: do(func() { s.stochastic, s.average, s.sum = true, false, false })},
		tool.Option{Short: 'y', Long: "samples", Help: "print sample count for each metric", Set: flag(&s.count)})
	c.Options = append(c.Options, c.Standard("timezone", "hostzone", "debug", "version", "help")...)
	return c
}

// all implements -a.
func (s *show) all() {
	s.stochastic, s.average, s.label, s.minimum, s.maximum, s.count = true, true, true, true, true, true
	s.sum = false
}

// onlySum implements -s.
func (s *show) onlySum() {
	s.stochastic, s.average, s.label, s.minimum, s.maximum, s.count = false, false, false, false, false, false
	s.sum = true
}

func (s *show) setBins(value string) error {
	n, ok := scan.WholeInt(value)
	if !ok || n < 0 {
		return errors.New("-B requires positive numeric argument")
	}
	if n > maxBins {
		return fmt.Errorf("-B requires an argument of at most %d", maxBins)
	}
	s.bins = int(n)
	return nil
}

// setPrecision sets the precision. A negative number means 6, as for printf(3).
func (s *show) setPrecision(value string) error {
	n, ok := scan.WholeInt(value)
	switch {
	case !ok:
		return errors.New("-p requires numeric argument")
	case n < 0:
		n = 6
	}
	s.precision = int(min(n, maxPrecision))
	return nil
}

// run prints the statistics of the command line.
func run(ctx context.Context, c *pcptool.Command, s *show, out *bufio.Writer) error {
	args, err := c.Parse(os.Args[1:])
	archives := c.Archives()
	if len(archives) == 0 && len(args) > 0 {
		archives, args = args[:1], args[1:]
	}
	switch {
	case err != nil:
		return err
	case len(archives) == 0:
		return c.UsageErrorf("Error: no archive specified\n\n")
	case len(c.Hosts()) > 0: // of the environment
		return c.Errorf("only one host or archive allowed")
	}
	m, err := openSummary(ctx, c, s, archives[0])
	if err != nil {
		return err
	}
	defer m.set.Close()
	m.out = out
	if err := m.setTimes(c); err != nil {
		return err
	}
	if s.label {
		m.printLabel()
	}
	if err := m.scan(); err != nil {
		return err
	}
	wanted := m.lookup(args) // by PCP's tool after the scan, which may warn of all metrics
	if s.bins > 0 {
		if err := m.fillBins(wanted); err != nil {
			return err
		}
	}
	m.print(wanted)
	return m.failed
}
