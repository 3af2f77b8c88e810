package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

func (c *Command) setInterval(value string) error {
	d, err := pmapi.ParseInterval(value)
	if err != nil {
		function := "pmParseInterval"
		if c.HighRes {
			function = "pmParseHighResInterval"
		}
		return errors.New("-t argument not in " + function + "(3) format:\n" + err.Error() + "\n")
	}
	c.Interval = d
	return nil
}

func (c *Command) setFinish(value string) error {
	c.given.finish, c.given.finishSet = value, true
	return nil
}

// SetTimes sets Location, Begin and End, once there is a context on the source.
//
// The zone is that of -Z, the collector's own with -z, for which it is fetched, or that of the environment's TZ. With
// ZoneNote the note on a zone of -Z or -z is printed on Stdout.
//
// The time window begins now. Of what pmParseTimeWindow(3) takes for its end, -T may be an interval: from now on, or after a
// minus sign before now, so that there are no samples. Other ends are errors that wrap errors.ErrUnsupported.
//
// The error is an *ExitError. The counterpart of pmGetContextOptions(3).
func (c *Command) SetTimes(ctx context.Context, pc *pmapi.Context) error {
	return c.setTimes(ctx, pc, time.Now())
}

func (c *Command) setTimes(ctx context.Context, pc *pmapi.Context, now time.Time) error {
	c.Location = LocalZone()
	switch {
	case c.given.hostZone:
		tz, err := fetchZone(ctx, pc)
		if err != nil {
			return c.Errorf("Cannot set context timezone: %w", err)
		}
		c.Location = newZone(tz)
		c.printZoneNote("local timezone of host \"" + EscapeName(pc.HostName(ctx)) + "\"")
	case c.given.zoneSet:
		c.Location = newZone(c.given.zone)
		c.printZoneNote("\"TZ=" + c.given.zone + "\"")
	}
	return c.setWindow(now)
}

func (c *Command) printZoneNote(zone string) {
	if c.ZoneNote {
		fmt.Fprintf(c.stdout(), "Note: timezone set to %s\n\n", zone)
	}
}

// fetchZone fetches the zone of the collector, in the form of TZ. As in pmNewContextZone(3) the error is always
// pdu.ErrValue.
func fetchZone(ctx context.Context, pc *pmapi.Context) (string, error) {
	ids, err := pc.Lookup(ctx, []string{"pmcd.timezone"})
	if err != nil {
		return "", pdu.ErrValue
	}
	var r pdu.Result
	if err := pc.Fetch(ctx, ids, &r); err != nil || r.At(0).Len() != 1 {
		return "", pdu.ErrValue
	}
	tz, err := pdu.As[string](r.At(0).Atom(0, pdu.TypeString))
	if err != nil {
		return "", pdu.ErrValue
	}
	return tz, nil
}

// setWindow sets a time window that begins now and has no end, or the one that -T gives.
func (c *Command) setWindow(now time.Time) error {
	c.Begin = now
	if !c.given.finishSet {
		return nil
	}
	text := strings.TrimLeft(c.given.finish, cnum.Blanks)
	if strings.HasPrefix(text, "@") {
		return &ExitError{Status: 1, Message: c.Name + ": -T with a time of day is not supported by this version\n", Err: errors.ErrUnsupported}
	}
	text = strings.TrimPrefix(text, "+")
	interval, before := strings.CutPrefix(text, "-")
	if strings.Trim(interval, cnum.Blanks) == "" {
		c.End = now.Add(-1) // before the first sample, so that there is none
		return nil
	}
	d, err := pmapi.ParseInterval(interval)
	switch {
	case before && (err != nil || strings.Trim(interval, cnum.Blanks+"0123456789.") == ""): // here a unit is required
		return c.Errorf("invalid time window.\n%s\n^ -- unexpected value\n", text)
	case err != nil:
		return c.Errorf("invalid time window.\n%w\n", err)
	case before:
		d = -d
	}
	c.End = now.Add(d)
	return nil
}

// SampleCount is the number of samples that the tool prints at an interval: that of -s, or else as many as there are in the
// time window of -T, the first of them at its begin; -1 without either, for no end. SetTimes has to come before.
func (c *Command) SampleCount(interval time.Duration) int {
	if c.Samples < 0 && !c.End.IsZero() {
		return max(0, int(c.End.Sub(c.Begin).Seconds()/interval.Seconds()+1))
	}
	return c.Samples
}
