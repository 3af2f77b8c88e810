package tool

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// defaultHost is where a tool looks that is not told a host.
const defaultHost = "local:"

// Source is the specification of the host to ask: that of -h, or the default.
func (c *Command) Source() string {
	if c.HostSet {
		return c.Host
	}
	return defaultHost
}

// Dial opens a context on a host, usually Source, under what the environment says. It ends the program if that fails.
func (c *Command) Dial(ctx context.Context, host string) *pmapi.Context {
	d, err := pmapi.FromEnv()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
	}
	d.Names, d.Counters = c.Names, c.Counters
	if len(c.Debug) > 0 {
		d.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	pc, err := d.Dial(ctx, host)
	if err == nil {
		return pc
	}
	if report, ok := badSpec(host); ok {
		fmt.Fprintf(os.Stderr, "%s\n", report)
	}
	c.Fatal("Cannot connect to PMCD on host \"%s\": %s", host, Reason(err))
	return nil
}

// badSpec is the report on a host specification that cannot be read.
func badSpec(host string) (report string, ok bool) {
	if _, err := pmapi.ParseHost(host); err != nil {
		return err.Error(), true
	}
	return "", false
}

// Reason is the text of the status that an error stands for: what a tool prints of it.
func Reason(err error) string { return pdu.FromError(err).Error() }

// Start comes once the tool is connected, as pmGetContextOptions(3) does: it finds the zone for the times that the tool
// prints, says which if it was asked for, and finds the end of the time window. It ends the program if one of these
// cannot be done.
func (c *Command) Start(ctx context.Context, pc *pmapi.Context) {
	if err := c.start(ctx, pc, os.Stdout, time.Now()); err != nil {
		c.Fatal("%v", err)
	}
}

// A source is what Start needs of a context.
type source interface {
	HostName(ctx context.Context) string
	Lookup(ctx context.Context, names ...string) ([]pdu.PMID, error)
	Fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error
}

func (c *Command) start(ctx context.Context, src source, out io.Writer, now time.Time) error {
	c.Location = LocalZone()
	switch {
	case c.HostZone:
		tz, err := hostZone(ctx, src)
		if err != nil {
			return complaint("Cannot set context timezone: " + err.Error())
		}
		c.Location = newZone(tz)
		c.note(out, "local timezone of host \""+src.HostName(ctx)+"\"")
	case c.ZoneSet:
		c.Location = newZone(c.Zone)
		c.note(out, "\"TZ="+c.Zone+"\"")
	}
	return c.window(now)
}

func (c *Command) note(out io.Writer, zone string) {
	if c.ZoneNote {
		fmt.Fprintf(out, "Note: timezone set to %s\n\n", zone)
	}
}

// hostZone is the collector's zone, as it says. As in pmNewContextZone(3) there is but one error.
func hostZone(ctx context.Context, src source) (string, error) {
	ids, err := src.Lookup(ctx, "pmcd.timezone")
	if err != nil {
		return "", pdu.ErrValue
	}
	var r pdu.Result
	if err := src.Fetch(ctx, ids, &r); err != nil || r.At(0).Len() != 1 {
		return "", pdu.ErrValue
	}
	tz, err := pdu.As[string](r.At(0).Atom(0, pdu.TypeString))
	if err != nil {
		return "", pdu.ErrValue
	}
	return tz, nil
}
