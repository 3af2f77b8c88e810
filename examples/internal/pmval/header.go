package pmval

import (
	"fmt"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// printHeader prints what the report is about.
func (p *printer) printHeader() error {
	if !p.isEvents() && !p.ZoneGiven { // the note on the zone ends with an empty line of its own
		fmt.Fprintln(p.out)
	}
	width, ok := pcptool.TypeWidth(p.desc.Type)
	if !ok {
		return p.Errorf("unknown performance metric value type %v", p.desc.Type)
	}
	if p.column.Width == 0 {
		p.column.Width = width
	}
	if n := p.column.Precision; n > 0 && n+1 >= p.column.Width {
		return p.Errorf("-f %d too large for column width %d", n, p.column.Width)
	}
	if !p.isEvents() {
		fmt.Fprintf(p.out, "metric:    %s\n", p.name)
	}
	if p.archive != "" {
		fmt.Fprintf(p.out, "archive:   %s\n", terminal.Escape(p.archive))
	}
	fmt.Fprintf(p.out, "host:      %s\n", p.host)
	if p.archive != "" {
		p.printTime("start:", p.Origin)
		if !p.End.IsZero() {
			p.printTime("end:", p.End)
		}
	}
	if !p.isEvents() {
		p.printSemantics()
	}
	if p.samples < 0 {
		fmt.Fprintf(p.out, "samples:   all\n")
	} else {
		fmt.Fprintf(p.out, "samples:   %d\n", p.samples)
	}
	if p.samples > 1 && !p.recorded {
		fmt.Fprintf(p.out, "interval:  %.2f sec\n", p.interval.Seconds())
	}
	return p.out.Flush()
}

func (p *printer) printTime(label string, t time.Time) {
	fmt.Fprintf(p.out, "%-11s%s\n", label, t.In(p.Location).Format(pcptool.CtimeLayout))
}

// printSemantics prints the semantics and the units.
func (p *printer) printSemantics() {
	sem := "unknown"
	switch p.desc.Sem {
	case pdu.SemCounter:
		sem = "cumulative counter"
	case pdu.SemInstant:
		sem = "instantaneous value"
	case pdu.SemDiscrete:
		sem = "discrete instantaneous value"
	}
	units := p.desc.Units.String()
	if units == "" {
		units = "none"
	}
	if p.rates {
		sem += " (converting to rate)"
		rateUnits, _ := pcptool.RateUnits(p.desc.Units)
		units += " (converting to " + rateUnits + ")"
	}
	fmt.Fprintf(p.out, "semantics: %s\nunits:     %s\n", sem, units)
}
