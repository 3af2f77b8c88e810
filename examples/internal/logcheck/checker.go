package logcheck

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

// A checker checks one archive.
type checker struct {
	*Options
	errs *bufio.Writer

	arg     string   // what the command line names
	base    string   // the archive with its directory
	paths   []string // of its files, in the order of the directory
	opened  []*archive.File
	version int    // of the first label
	from    string // and in what file that is

	set       *archive.Set
	arch      *archive.Archive
	label     archive.Label
	nameSpace *pmns.Tree // that of -n, or the archive's own
	clock     logtext.Clock
	span      pmapi.Window
	badIndex  bool // it is not used
	endless   bool // no end was found
}

func (k *checker) printf(format string, args ...any) { fmt.Fprintf(k.errs, format, args...) }

// trace prints progress messages with -v.
func (k *checker) trace(format string, args ...any) {
	if k.Verbose > 0 {
		k.printf(format, args...)
	}
}

func (k *checker) close() {
	if k.set != nil {
		k.set.Close()
	}
	for _, f := range k.opened {
		f.Close()
	}
}

// endOfTime is the end of an archive whose end cannot be found.
var endOfTime = time.Unix(math.MaxInt32, 0)

// open opens the archive after its files were checked.
func (k *checker) open(ctx context.Context, c *pcptool.Command) error {
	set, err := archive.Open(ctx, k.base)
	if err != nil {
		k.printf("pmlogcheck: cannot open archive \"%s\": %v\nChecking abandoned.\n", terminal.EscapeName(k.arg), pcptool.Cause(err))
		return failed
	}
	k.set, k.arch, k.label = set, set.Archives()[0], set.Label()
	k.nameSpace = cmp.Or(c.Names(), set.Metadata().Names())
	end, err := set.End()
	if err != nil {
		k.endless, end = true, endOfTime
		k.printf("pmlogcheck: Cannot locate end of archive %s: %v\n", terminal.EscapeName(k.arg), pcptool.Cause(err))
		k.printf("\nWARNING: This archive is sufficiently damaged that it may not be possible to\n" +
			"         produce complete information.  Continuing and hoping for the best.\n\n")
	}
	if err := c.SetArchiveTimes(k.label.Host, k.label.TimeZone, k.label.Start, end); err != nil {
		return err
	}
	k.clock = logtext.Clock{Location: c.Location, Digits: logtext.Millis}
	k.span = pmapi.Window{Start: c.Begin, End: c.End}
	if k.Options.Label {
		k.printLabel()
	}
	return nil
}

// printLabel prints the label with the end of the time window.
func (k *checker) printLabel() {
	b := logtext.AppendLabelHead(nil, &k.label, &k.clock, "  ")
	b = append(b, "\n  ending     "...)
	if k.endless && k.span.End.Equal(endOfTime) {
		b = append(b, "UNKNOWN"...)
	} else {
		b = k.clock.AppendDate(b, k.span.End)
	}
	k.errs.Write(append(b, '\n'))
}

// allNames returns the names of a metric, or its number if it has no names.
func (k *checker) allNames(id pdu.PMID) string {
	names := k.nameSpace.Names(id)
	if len(names) == 0 {
		return id.String()
	}
	text := names[0]
	for _, name := range names[1:] {
		text += " or " + name
	}
	return terminal.EscapeName(text)
}

// appendTime appends a time, with the date if the time window is longer than a day.
func (k *checker) appendTime(b []byte, t time.Time) []byte {
	if k.span.End.Sub(k.span.Start) <= 24*time.Hour {
		return k.clock.Append(b, t)
	}
	return k.clock.AppendDate(b, t)
}

func (k *checker) timeText(t time.Time) string { return string(k.appendTime(nil, t)) }
