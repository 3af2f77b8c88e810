package pmstat

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
)

// followTimeControl lets a time control server decide when samples are fetched, and which. As with
// PCP's pmstat, the server sets the position of the last source only. Other archives are read
// record by record.
func (r *report) followTimeControl(ctx context.Context) (err error) {
	if r.control, err = r.TimeControl(ctx, r.sources[len(r.sources)-1].pc, r.Interval); err != nil {
		return err
	}
	r.control.Notify = r.obey
	return nil
}

// obey does what the server requests, except for fetches.
func (r *report) obey(e timecontrol.Event) {
	fmt.Fprint(r.out, e)
	switch e.Kind {
	case timecontrol.EventZone:
		r.Location = pcptool.ZoneOf(e)
		r.moved = true
	case timecontrol.EventPosition, timecontrol.EventResume:
		r.moved, r.beyond = true, false
	case timecontrol.EventEnd:
		r.beyond = true
	}
	r.out.Flush()
}

// awaitStep waits until the server requests a sample. again reports that the header must be printed
// once more first, which takes a step of the server. Beyond the end there are no samples until the
// server moves to another position.
func (r *report) awaitStep(ctx context.Context) (again bool, err error) {
	for {
		if err := r.control.Next(ctx); err != nil {
			return false, r.TimeControlLost(err)
		}
		if !r.moved && !r.beyond {
			return false, nil
		}
		if err := r.acknowledge(); err != nil {
			return false, err
		}
		if !r.beyond {
			r.moved = false
			return true, nil
		}
	}
}

// acknowledge tells a time control server that a step is complete.
func (r *report) acknowledge() error {
	if r.control == nil {
		return nil
	}
	r.out.Flush()
	if err := r.control.Done(); err != nil {
		return r.TimeControlLost(err)
	}
	return nil
}

// atEnd tells the server that an archive has ended.
func (r *report) atEnd() error {
	if err := r.control.AtEnd(); err != nil {
		return r.TimeControlLost(err)
	}
	return nil
}
