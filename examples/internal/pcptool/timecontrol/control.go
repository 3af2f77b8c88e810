package timecontrol

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

// A Control has a time control server say when a program fetches, and of what time. The counterpart
// of pmTimeState in C.
//
//	for {
//		if err := control.Next(ctx); err != nil {
//			return err // the server has gone
//		}
//		err := pc.Fetch(ctx, ids, &result)
//		if errors.Is(err, pdu.ErrEOL) {
//			err = control.AtEnd()
//		} else if err == nil {
//			print(result)
//			err = control.Done()
//		}
//		…
//	}
type Control struct {
	Conn    *Conn
	Context *pmapi.Context // whose position and interval the server sets, if it is on an archive
	Delta   time.Duration  // the interval: at first what the server was told, later what it says
	// Notify, if not nil, is called with requests of the server, before Next returns for the fetch
	// that they concern.
	Notify func(Event)

	state    controlState
	position time.Time // of the step that is to be acknowledged
}

// An EventKind is a kind of Event.
type EventKind int

// The kinds of events.
const (
	EventRewind   EventKind = iota // steps go backward now; there are no fetches meanwhile
	EventPosition                  // the next fetch is at another position
	EventResume                    // the next fetch comes after a pause; live, after all that is not a step forward
	EventInterval                  // there is another interval
	EventZone                      // times are to be printed in another zone
	EventEnd                       // the archive has ended
)

// An Event is a request of a server to a program, other than a step.
type Event struct {
	Kind        EventKind
	Interval    time.Duration // of EventInterval
	Zone, Label string        // of EventZone
}

// String is what PCP's tools print.
func (e Event) String() string {
	switch e.Kind {
	case EventRewind:
		return "\n[Time Control] Rewind/Reverse ...\n"
	case EventPosition:
		return "\n[Time Control] Repositioned in archive ...\n"
	case EventResume:
		return "\n[Time Control] Resume ...\n"
	case EventInterval:
		return fmt.Sprintf("new interval:  %1.2f sec\n", e.Interval.Seconds())
	case EventZone:
		return fmt.Sprintf("new timezone: %s (%s)\n", e.Zone, e.Label)
	case EventEnd:
		return "\n[Time Control] End of Archive ...\n"
	}
	return ""
}

// A controlState is what the steps before were.
type controlState int

const (
	starting controlState = iota // there were none
	goingOn                      // forward
	goneBack                     // backward
	moved                        // the position is another
	paused                       // the server has stopped
	ended                        // beyond the archive's end
)

// Next waits until the server requests a fetch. It acknowledges the steps without a fetch. Errors
// are those of Conn.Receive, such as io.EOF if the server has gone, and of pmapi.Context.SetMode.
// It is the counterpart of pmTimeStateVector in C.
func (c *Control) Next(ctx context.Context) error {
	for {
		m, err := c.Conn.Receive(ctx)
		if err != nil {
			return err
		}
		switch m.Command {
		case CommandStep:
			c.position = m.Position
			if m.State != Backward {
				return c.goOn(ctx, m)
			}
			if c.state != goneBack {
				c.state = goneBack
				c.notify(Event{Kind: EventRewind})
			}
			if err := c.Done(); err != nil {
				return err
			}
		case CommandSet, CommandDrag:
			c.state = moved
		case CommandMode:
			if c.state = moved; m.State == Stopped {
				c.state = paused
			}
		case CommandZone:
			c.notify(Event{Kind: EventZone, Zone: m.Zone, Label: m.Label})
		}
	}
}

// goOn prepares for a step forward. It sets the position and the interval only for the first of
// several such steps.
func (c *Control) goOn(ctx context.Context, m Message) error {
	was := c.state
	if was == goingOn || was == ended {
		return nil
	}
	archive := m.Source == SourceArchive
	switch {
	case was == starting:
	case was == paused || !archive:
		c.notify(Event{Kind: EventResume})
	default:
		c.notify(Event{Kind: EventPosition})
	}
	if c.state = goingOn; m.Delta != c.Delta && was != starting {
		c.notify(Event{Kind: EventInterval, Interval: m.Delta})
	}
	if c.Delta = m.Delta; !archive {
		return nil
	}
	return c.Context.SetMode(ctx, pmapi.ModeInterp, m.Position, m.Delta)
}

func (c *Control) notify(e Event) {
	if c.Notify != nil {
		c.Notify(e)
	}
}

// Done acknowledges the step that Next returned; the server then continues. It is the counterpart
// of pmTimeStateAck in C.
func (c *Control) Done() error {
	if c.state == ended {
		c.state = goingOn // the archive has become longer
	}
	return c.Conn.Ack(c.position)
}

// AtEnd acknowledges the step that Next has returned for when the fetch was beyond the end. The
// counterpart of pmTimeStateBounds in C.
func (c *Control) AtEnd() error {
	if c.state != ended {
		c.state = ended
		c.notify(Event{Kind: EventEnd})
	}
	return c.Conn.Ack(c.position)
}
