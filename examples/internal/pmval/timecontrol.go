package pmval

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
)

// followTimeControl has a time control server say when samples are fetched, and which. There is no
// end to them then.
func (p *printer) followTimeControl(ctx context.Context) error {
	control, err := p.TimeControl(ctx, p.pc, p.interval)
	if err != nil {
		if !p.ZoneGiven {
			fmt.Fprintln(p.out) // of the header
		}
		return err
	}
	control.Notify = p.obey
	p.control, p.samples = control, p.Samples
	return nil
}

// obey does what the server requests, except for fetches.
func (p *printer) obey(e timecontrol.Event) {
	fmt.Fprint(p.out, e)
	switch e.Kind {
	case timecontrol.EventZone:
		p.Location = pcptool.ZoneOf(e)
	case timecontrol.EventPosition, timecontrol.EventResume:
		p.needLabels, p.moved = true, true
	}
	p.out.Flush()
}

// awaitStep waits until the server requests a sample. It first acknowledges the previous step,
// whose sample was printed.
func (p *printer) awaitStep(ctx context.Context) error {
	if p.control == nil {
		return nil
	}
	p.out.Flush()
	if p.stepping {
		if err := p.control.Done(); err != nil {
			return p.TimeControlLost(err)
		}
	}
	p.stepping = true
	if err := p.control.Next(ctx); err != nil {
		return p.TimeControlLost(err)
	}
	return nil
}

// atEnd tells the server that no sample follows because the archive has ended.
func (p *printer) atEnd() error {
	p.stepping = false
	if err := p.control.AtEnd(); err != nil {
		return p.TimeControlLost(err)
	}
	return nil
}
