// Package pmdumplog is the command of that name.
package pmdumplog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// Main is the command pmdumplog; it does not return.
func Main() {
	s := new(show)
	c := newCommand(s)
	out := bufio.NewWriterSize(terminal.NewEscapeWriter(os.Stdout), outBuffer)
	err := run(context.Background(), c, s, out)
	err = errors.Join(err, out.Flush())
	os.Exit(c.Report(err))
}

// outBuffer is the size of the output buffer in bytes.
const outBuffer = 64 << 10

func newCommand(s *show) *pcptool.Command {
	c := &pcptool.Command{Name: "pmdumplog", Synopsis: "[options] [archive [metricname ...]]", OperandSource: true, OperandArchive: true, ZoneNote: true, HighRes: true}
	flag := tool.Flag
	c.AddOptions("Options",
		tool.Option{Short: 'a', Long: "all", Help: "dump everything", Set: func(string) error { s.all(); return nil }},
		tool.Option{Short: 'd', Long: "descs", Help: "dump metric descriptions", Set: flag(&s.descs)},
		tool.Option{Short: 'e', Long: "labelsets", Help: "dump all metric label metadata", Set: flag(&s.labelSets)},
		tool.Option{Short: 'h', Long: "helptext", Help: "dump all metric help text", Set: flag(&s.helpTexts)},
		tool.Option{Short: 'I', Long: "on-disk-insts", Help: "dump on-disk instance domain descriptions", Set: flag(&s.inDomRecords)},
		tool.Option{Short: 'i', Long: "insts", Help: "dump instance domain descriptions", Set: flag(&s.inDoms)},
		tool.Option{Short: 'L', Help: "more verbose form of archive label dump", Set: func(string) error { s.label, s.fullLabel = true, true; return nil }},
		tool.Option{Short: 'l', Long: "label", Help: "dump the archive label", Set: flag(&s.label)},
		tool.Option{Short: 'M', Long: "markrecs", Help: "report <mark> records", Set: flag(&s.marks)},
		tool.Option{Short: 'm', Long: "metrics", Help: "dump values of the metrics (default)", Set: flag(&s.values)})
	c.Options = append(c.Options, c.Standard("namespace")...)
	c.Options = append(c.Options, tool.Option{Short: 'r', Long: "reverse", Help: "process archive in reverse chronological order", Set: flag(&s.reverse)})
	c.Options = append(c.Options, c.Standard("start")...)
	c.Options = append(c.Options, tool.Option{Short: 's', Long: "sizes", Help: "report size of data records in archive", Set: flag(&s.sizes)})
	c.Options = append(c.Options, c.Standard("finish")...)
	c.Options = append(c.Options,
		tool.Option{Short: 't', Help: "dump the temporal index", Set: flag(&s.index)},
		tool.Option{Short: 'v', Arg: "FILE", Help: "verbose hex dump of a physical file in raw format", Set: func(file string) error { s.raw = file; return nil }},
		tool.Option{Short: 'x', Help: "include date, usec (-xx) and Epoch (-xxx) in reported timestamps", Set: func(string) error { s.stamp++; return nil }})
	c.Options = append(c.Options, c.Standard("timezone", "hostzone", "debug", "version", "help")...)
	return c
}

// run prints what the command line selects.
func run(ctx context.Context, c *pcptool.Command, s *show, out *bufio.Writer) error {
	args, err := c.Parse(os.Args[1:])
	archives := c.Archives()
	if len(archives) == 0 && s.raw == "" && len(args) > 0 {
		archives, args = args[:1], args[1:]
	}
	switch {
	case err != nil:
		return err
	case s.raw == "" && len(archives) == 0, s.raw != "" && len(args) > 0:
		return c.UsageErrorf("")
	case s.raw != "":
		if err := printRaw(out, s.raw); err != nil {
			return c.Errorf("Cannot open \"%s\": %w", terminal.Escape(s.raw), pcptool.Cause(err))
		}
		return nil
	case !s.sections():
		s.values = true
	}
	d, err := newDumper(ctx, c, s, archives[0])
	if err != nil {
		return err
	}
	defer d.set.Close()
	d.out = out
	if err := d.setTimes(c); err != nil {
		return err
	}
	ids, err := d.lookup(args)
	if err != nil {
		return err
	}
	if err := d.print(ids); err != nil {
		return c.Errorf("%w", err)
	}
	return nil
}

// lookup returns the metrics with and below the names.
func (d *dumper) lookup(names []string) (ids []pdu.PMID, err error) {
	for _, name := range names {
		metrics, err := d.nameSpace.Traverse(name)
		if err != nil || name == "" {
			fmt.Fprintf(d.errs, "pmdumplog: pmLookupName(%s): %v\n", name, pdu.ErrName)
			continue
		}
		for _, id := range metrics {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if len(names) > 0 && len(ids) == 0 {
		return nil, &pcptool.ExitError{Status: 1, Message: "No metric names can be translated, dump abandoned\n", Err: pdu.ErrName}
	}
	return ids, nil
}
