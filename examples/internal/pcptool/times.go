package pcptool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func (c *Command) setInterval(value string) error {
	d, err := pmapi.ParseInterval(value)
	if err != nil {
		function := "pmParseInterval"
		if c.HighRes {
			function = "pmParseHighResInterval"
		}
		return hint.With(errors.New("-t argument not in "+function+"(3) format:\n"+SyntaxError(err).Error()+"\n"), "-t: "+hint.Interval)
	}
	c.Interval = d
	return nil
}

func (c *Command) setStart(value string) error {
	c.given.start, c.StartGiven = &value, true
	return nil
}

func (c *Command) setFinish(value string) error {
	c.given.finish, c.FinishGiven = &value, true
	return nil
}

func (c *Command) setAlign(value string) error {
	c.given.align, c.AlignGiven = &value, true
	return nil
}

func (c *Command) setOrigin(value string) error {
	c.given.origin = &value
	return nil
}

// SetTimes sets Location, Begin, End and Origin, once there is a context on the source.
//
// The zone is that of -Z; with -z that of the source, which takes a request to a collector; or else
// that of the environment's TZ. With ZoneNote, SetTimes prints the note on a zone of -Z or -z on
// Stdout.
//
// The time window is that of -S, -T, -A and -O, see pmapi.WindowSpec, within the time from an
// archive's label to its last record; with Multi, from the earliest label of all archives that the
// options name to their latest record. If the last record cannot be found, a warning is printed on
// Stderr, and the window has no end without -T. That of a live source begins now and ends with -T.
// An interval of -A is ignored if nothing in the window can be aligned to it, as by PCP's tools.
//
// The error is an *ExitError. The counterpart of pmGetContextOptions(3).
func (c *Command) SetTimes(ctx context.Context, pc *pmapi.Context) error {
	now := time.Now()
	src, err := c.sourceTimes(ctx, pc, now)
	if err != nil {
		return err
	}
	return c.setTimes(src, now)
}

// A timeSource is what the time options need to know of a source.
type timeSource struct {
	bounds func() (first, last time.Time, err error) // of archives; of a live source the current time and zero
	host   func() string
	zone   func() (string, error) // in the form of TZ
	from   string                 // what the note on its zone says after the host
}

// sourceTimes is the timeSource of a context.
func (c *Command) sourceTimes(ctx context.Context, pc *pmapi.Context, now time.Time) (timeSource, error) {
	label, err := pc.ArchiveLabel()
	if errors.Is(err, pdu.ErrNotArchive) {
		return liveTimes(ctx, pc, now), nil
	}
	return timeSource{
		bounds: func() (first, last time.Time, err error) { return c.archiveBounds(ctx, pc, label.Start) },
		host:   func() string { return label.Host },
		zone:   func() (string, error) { return label.TimeZone, nil },
		from:   " from archive",
	}, nil
}

// hasWindow reports whether there are options of a time window.
func (c *Command) hasWindow() bool {
	g := &c.given
	return g.start != nil || g.finish != nil || g.align != nil || g.origin != nil
}

// archiveBounds are the times of an archive's label and of its last record, or of the earliest and
// the latest of all archives that the options name. The last is zero if one of them is not known.
func (c *Command) archiveBounds(ctx context.Context, pc *pmapi.Context, start time.Time) (first, last time.Time, err error) {
	names := c.Archives()
	switch {
	case c.OriginOnly && !c.hasWindow():
		return start, last, nil
	case len(names) < 2:
		return start, c.archiveEnd(ctx, pc, c.opened), nil
	}
	first = start
	known := true
	for _, name := range names {
		start, end, err := c.archiveTimes(ctx, name)
		if err != nil {
			return first, last, c.Errorf("Cannot open archive %s: %w", name, Cause(err))
		}
		if start.Before(first) {
			first = start
		}
		if end.After(last) {
			last = end
		}
		known = known && !end.IsZero()
	}
	if !known {
		last = time.Time{}
	}
	return first, last, nil
}

// archiveTimes opens an archive and returns the times of its label and of its last record.
func (c *Command) archiveTimes(ctx context.Context, name string) (start, end time.Time, err error) {
	o := pmapi.ArchiveOptions{Files: archive.Options{Damaged: ignoreDamage}}
	pc, err := o.Open(ctx, name)
	if err != nil {
		return start, end, err
	}
	defer pc.Close()
	label, err := pc.ArchiveLabel()
	if err != nil {
		return start, end, err
	}
	return label.Start, c.archiveEnd(ctx, pc, name), nil
}

// ignoreDamage is an archive.Options.Damaged for archives whose damage has been reported.
func ignoreDamage(error) error { return nil }

// archiveEnd is the time of an archive's last record. If it cannot be found it is zero, and the
// reason is printed, as by PCP's tools, which go on.
func (c *Command) archiveEnd(ctx context.Context, pc *pmapi.Context, name string) time.Time {
	end, err := pc.ArchiveEnd(ctx)
	if err != nil {
		fmt.Fprintf(c.stderr(), "%s: Cannot locate end of archive %s: %v\n\n"+
			"WARNING: This archive is sufficiently damaged that it may not be possible to\n"+
			"         produce complete information.  Continuing and hoping for the best.\n\n", c.Name, terminal.EscapeName(name), Cause(err))
		return time.Time{}
	}
	return end
}

func liveTimes(ctx context.Context, pc *pmapi.Context, now time.Time) timeSource {
	return timeSource{
		bounds: func() (first, last time.Time, err error) { return now, last, nil },
		host:   func() string { return pc.HostName(ctx) },
		zone:   func() (string, error) { return tool.HostZone(ctx, pc) },
	}
}

func (c *Command) setTimes(src timeSource, now time.Time) error {
	if err := c.setLocation(src); err != nil {
		return err
	}
	return c.setWindow(src, now)
}

func (c *Command) setLocation(src timeSource) error {
	c.Location = tool.LocalZone()
	switch {
	case c.given.hostZone:
		tz, err := src.zone()
		if err != nil {
			return c.Errorf("Cannot set context timezone: %w", err)
		}
		c.Location = NewZone(tz)
		c.printZoneNote("local timezone of host \"" + terminal.EscapeName(src.host()) + "\"" + src.from)
	case c.given.zoneSet:
		c.Location = NewZone(c.given.zone)
		c.printZoneNote("\"TZ=" + c.given.zone + "\"")
	}
	return nil
}

func (c *Command) printZoneNote(zone string) {
	if c.ZoneNote {
		fmt.Fprintf(c.stdout(), "Note: timezone set to %s\n\n", zone)
	}
}

// setWindow sets the time window.
func (c *Command) setWindow(src timeSource, now time.Time) error {
	first, last, err := src.bounds()
	if err != nil {
		return err
	}
	spec := pmapi.WindowSpec{Start: point(c.given.start), Finish: point(c.given.finish), Origin: point(c.given.origin), Location: c.Location, Now: now}
	if c.given.align != nil {
		if spec.Align = *c.given.align; spec.Align == "" {
			_, err = pmapi.ParseInterval("")
		}
	}
	var w pmapi.Window
	if err == nil {
		w, err = spec.Window(first, last)
	}
	if w == (pmapi.Window{}) && err != nil {
		return WithHint(c.Errorf("invalid time window.\n%w\n", SyntaxError(err)), strings.TrimSuffix(hint.Time+"; "+boundsHint(first, last, c.Location), "; "))
	}
	c.Begin, c.End, c.Origin = w.Start, w.End, w.Origin
	if !last.IsZero() && w.Start.After(last) || !w.End.IsZero() && w.End.Before(first) {
		c.Hint(boundsHint(first, last, c.Location))
	}
	return nil
}

// point is a point of time of an option. To the C library an empty one is today.
func point(option *string) string {
	switch {
	case option == nil:
		return ""
	case *option == "":
		return "@today"
	}
	return *option
}

// SampleCount returns the number of samples that the tool prints at an interval: that of -s, or
// else as many as fit in the time window, with the first at its origin. Without either it returns
// -1, for no end. Call SetTimes first.
func (c *Command) SampleCount(interval time.Duration) int {
	if c.Samples < 0 && !c.End.IsZero() {
		return max(0, int(Elapsed(c.Origin, c.End)/interval.Seconds())+1)
	}
	return c.Samples
}

// Elapsed is the number of seconds from one time to another, as PCP's tools compute it: to a tenth
// of a microsecond, which shows in the rates between samples that are near each other. The
// counterpart of pmtimespecToReal(3).
func Elapsed(from, to time.Time) float64 { return realTime(to) - realTime(from) }

func realTime(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }
