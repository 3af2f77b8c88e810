package pmdumplog

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// show selects what is printed. Its fields are the options.
type show struct {
	label, fullLabel bool
	descs            bool
	labelSets        bool
	helpTexts        bool
	inDomRecords     bool
	inDoms           bool
	index            bool
	values           bool
	marks            bool // also those between records of metrics that are named
	sizes            bool
	reverse          bool
	stamp            int // how often -x was given
	raw              string
}

// all implements -a.
func (s *show) all() {
	s.label, s.fullLabel, s.descs, s.inDoms, s.index, s.values, s.sizes = true, true, true, true, true, true, true
}

// sections reports whether a section was requested.
func (s *show) sections() bool {
	return s.label || s.descs || s.labelSets || s.helpTexts || s.inDomRecords || s.inDoms || s.index || s.values
}

// A dumper prints an archive, or several as one.
type dumper struct {
	*show
	out       *bufio.Writer
	errs      io.Writer
	set       *archive.Set
	arch      *archive.Archive // whose files are printed
	meta      *archive.Metadata
	label     archive.Label // of arch
	end       time.Time
	endErr    error
	nameSpace *pmns.Tree // that of -n, or the archive's own
	clock     logtext.Clock
	from      time.Time // the time window
	until     time.Time
	metrics   map[pdu.PMID]*metric
	inDoms    map[pdu.InDom]*inDomNames
	buf       []byte
	picked    []pdu.ValueSet   // of the record to be printed
	sized     pdu.ResultWriter // measures them
}

// newDumper opens an archive.
func newDumper(ctx context.Context, c *pcptool.Command, s *show, name string) (*dumper, error) {
	d := &dumper{show: s, errs: os.Stderr, metrics: map[pdu.PMID]*metric{}, inDoms: map[pdu.InDom]*inDomNames{}}
	options := archive.Options{Damaged: c.DamagedArchive}
	set, err := options.Open(ctx, name)
	if errors.Is(err, pdu.ErrFeature) {
		fmt.Fprintln(d.errs, "pmdumplog: Warning: unsupported feature bits, other errors may follow ...")
		options.AnyFeature = true
		set, err = options.Open(ctx, name)
	}
	if err != nil {
		return nil, c.Errorf("Cannot open archive \"%s\": %w", terminal.Escape(name), pcptool.Cause(err))
	}
	d.set, d.meta = set, set.Metadata()
	d.nameSpace = cmp.Or(c.Names(), d.meta.Names())
	d.clock = logtext.Clock{Location: time.Local}
	d.use(set.Archives()[0])
	d.findEnd(name)
	return d, nil
}

// use sets the archive whose files are printed. Its version determines the number of digits of
// times.
func (d *dumper) use(a *archive.Archive) {
	if a == nil || a == d.arch {
		return
	}
	d.arch, d.label = a, a.Label()
	d.clock.Digits = logtext.Micros
	if d.label.Version > 2 {
		d.clock.Digits = logtext.Nanos
	}
}

// eachArchive calls print for each archive. With several, it prints the name of each first.
func (d *dumper) eachArchive(print func() error) error {
	all := d.set.Archives()
	defer d.use(all[0])
	for _, a := range all {
		d.use(a)
		if len(all) > 1 {
			d.printf("--- archive %s ---\n", a.Files().Base)
		}
		if err := print(); err != nil {
			return err
		}
	}
	return nil
}

// findEnd finds the end of the archive. A damaged archive ends in the far future.
func (d *dumper) findEnd(name string) {
	d.end, d.endErr = d.set.End()
	if d.endErr == nil {
		return
	}
	d.end = time.Unix(1<<40, 0)
	fmt.Fprintf(d.errs, "pmdumplog: Cannot locate end of archive %s: %v\n", terminal.Escape(name), pcptool.Cause(d.endErr))
	fmt.Fprint(d.errs, "\nWARNING: This archive is sufficiently damaged that it may not be possible to\n"+
		"         produce complete information.  Continuing and hoping for the best.\n\n")
}

// setTimes sets the zone and the time window. Backwards the window has no limit without -S and -T.
func (d *dumper) setTimes(c *pcptool.Command) error {
	if err := c.SetArchiveTimes(d.label.Host, d.label.TimeZone, d.label.Start, d.end); err != nil {
		return err
	}
	d.clock.Location, d.from, d.until = c.Location, c.Begin, c.End
	if d.reverse && !c.StartGiven && !c.FinishGiven {
		d.from = time.Time{}
	}
	return nil
}

// print prints the sections, and the values of metrics if metrics are named.
func (d *dumper) print(ids []pdu.PMID) error {
	if n := len(d.set.Archives()); n > 1 {
		d.printf("Note: multi-archive context with %d archives\n", n)
	}
	for _, section := range [...]struct {
		requested bool
		print     func() error
	}{
		{d.show.label, func() error { return d.eachArchive(d.printLabel) }},
		{d.descs, d.printDescs},
		{d.labelSets, d.printLabelSets},
		{d.helpTexts, d.printHelpTexts},
		{d.inDomRecords, d.printInDomRecords},
		{d.show.inDoms, d.printInDoms},
		{d.index, d.printIndex},
		{d.values, func() error { return d.printRecords(ids) }},
	} {
		if !section.requested {
			continue
		}
		if err := section.print(); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) printf(format string, args ...any) {
	d.buf = fmt.Appendf(d.buf[:0], format, args...)
	d.out.Write(d.buf)
}

// printTime prints a time in the format of -x.
func (d *dumper) printTime(t time.Time) { d.out.Write(d.appendTime(d.out.AvailableBuffer(), t)) }

func (d *dumper) appendTime(b []byte, t time.Time) []byte {
	b = d.appendDate(b, t)
	if d.stamp >= 3 {
		b = fmt.Appendf(b, " %d", t.Unix())
	}
	return b
}

// appendDate appends a time in the format of -x or -xx.
func (d *dumper) appendDate(b []byte, t time.Time) []byte {
	if d.stamp == 0 {
		return d.clock.Append(b, t)
	}
	b = d.clock.AppendDate(b, t)
	if d.stamp >= 2 {
		start := d.set.Start()
		if d.clock.Digits == logtext.Micros {
			start = start.Truncate(time.Microsecond)
		}
		b = fmt.Appendf(b, " (%.*f)", d.clock.Digits, logtext.Seconds(start, t))
	}
	return b
}

// allNames returns the names of a metric, or none if it has no names.
func (d *dumper) allNames(id pdu.PMID, none string) string {
	names := d.nameSpace.Names(id)
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, " or ")
}
