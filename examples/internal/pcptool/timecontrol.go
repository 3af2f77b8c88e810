package pcptool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// UsesTimeControl reports whether -g or -p was given.
func (c *Command) UsesTimeControl() bool { return c.given.guiMode || c.given.guiPort != 0 }

// GUIMode reports whether -g was given.
func (c *Command) GUIMode() bool { return c.given.guiMode }

// TimeControl connects to the time control server of -p, or starts one with -g, for a context on
// the source of the tool. It sends the server the interval and, for an archive, Origin, Begin and
// End. So call SetTimes first. The Control has no Notify yet.
//
//	if c.UsesTimeControl() {
//		if control, err = c.TimeControl(ctx, pc, interval); err != nil {
//			return err
//		}
//		defer control.Conn.Close()
//		control.Notify = func(e timecontrol.Event) { fmt.Fprint(out, e) }
//	}
//	for n := 0; control != nil || n < samples; n++ {
//		if control != nil {
//			if err := control.Next(ctx); err != nil {
//				return c.TimeControlLost(err)
//			}
//		}
//		…
//	}
//
// The error is an *ExitError: "pmTimeConnect: …". The counterpart of pmTimeStateSetup in C.
func (c *Command) TimeControl(ctx context.Context, pc *pmapi.Context, interval time.Duration) (*timecontrol.Control, error) {
	set := timecontrol.Message{Delta: interval, Position: time.Now(), Zone: c.given.zone, Label: "localhost"}
	label, err := pc.ArchiveLabel()
	switch {
	case err == nil:
		set.Source, set.Position, set.Start, set.End = timecontrol.SourceArchive, c.Origin, c.Begin, c.End
		set.Label = label.Host
		if c.given.hostZone {
			set.Zone = label.TimeZone
		}
	case errors.Is(err, pdu.ErrNotArchive):
		set.Label = pc.HostName(ctx)
		if c.given.hostZone {
			set.Zone, _ = tool.HostZone(ctx, pc) // SetTimes would have failed
		}
	default:
		return nil, c.Errorf("pmTimeConnect: %w", Cause(err))
	}
	if c.given.zone != "" {
		set.Label = c.given.zone
	}
	if set.Zone = withOffset(set.Zone); set.Zone == "" {
		set.Zone = environmentZone()
	}
	var conn *timecontrol.Conn
	if c.given.guiMode {
		conn, err = timecontrol.Start(ctx, set)
	} else {
		conn, err = timecontrol.Dial(ctx, c.given.guiPort, set)
	}
	if err != nil {
		return nil, c.timeControlError(err)
	}
	return &timecontrol.Control{Conn: conn, Context: pc, Delta: interval}, nil
}

// environmentZone is the zone of the environment's TZ, or else the local one, in the form of TZ.
func environmentZone() string {
	if tz := os.Getenv("TZ"); tz != "" {
		return tz
	}
	name, offset := time.Now().Zone()
	if offset == 0 {
		return name
	}
	sign := "-" // what is to be added to get UTC
	if offset < 0 {
		sign, offset = "", -offset
	}
	return fmt.Sprintf("<%s>%s%d:%02d", name, sign, offset/3600, offset/60%60)
}

// timeControlError returns an error with the text of PCP's tools. They interpret the number of
// every failure as an errno.
func (c *Command) timeControlError(err error) error {
	e := &ExitError{Status: 1, Err: err}
	text := "Interrupted system call"
	if h, ok := errors.AsType[*timecontrol.HandshakeError](err); ok && h.Started {
		text = "No such process"
	}
	if start, ok := errors.AsType[*timecontrol.StartError](err); ok {
		cause := start.Err
		if text = "No such file or directory"; errors.Is(cause, exec.ErrNotFound) {
			cause = fs.ErrNotExist
		}
		e.Message = fmt.Sprintf("execvp: %v\n", pdu.FromError(cause))
	}
	e.Message += fmt.Sprintf("%s: pmTimeConnect: %s\n", c.Name, text)
	return e
}

// TimeControlLost is the error of a tool that ends because the server has gone, with an error of
// timecontrol.Control.
func (c *Command) TimeControlLost(err error) error {
	return &ExitError{Status: 1, Message: fmt.Sprintf("\n%s: Time Control dialog exited, goodbye.\n", c.Name), Err: err}
}

// ZoneOf returns the zone that a time control server requests with timecontrol.EventZone.
func ZoneOf(e timecontrol.Event) *time.Location { return NewZone(e.Zone) }
