package main

import (
	"fmt"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
)

const labelIndent = "    "

// printLabel prints the label of the archive.
func (d *dumper) printLabel() error {
	b := logtext.AppendLabelHead(nil, &d.label, &d.clock, labelIndent)
	if d.stamp >= 3 {
		b = fmt.Appendf(b, " %d", d.label.Start.Unix())
	}
	b = append(b, "\n"+labelIndent+"ending     "...)
	if d.endErr != nil {
		b = append(b, "UNKNOWN"...)
	} else {
		b = d.clock.AppendDate(b, d.end)
	}
	if d.stamp >= 3 && d.endErr == nil {
		b = fmt.Appendf(b, " %d", d.end.Unix())
	}
	b = append(b, '\n')
	if d.fullLabel {
		b = appendMore(b, &d.label)
	}
	d.out.Write(b)
	return nil
}

// appendMore appends what -L has more than -l.
func appendMore(b []byte, l *archive.Label) []byte {
	if l.TimeZone != "" {
		b = fmt.Appendf(b, "Archive timezone: %s\n", l.TimeZone)
	}
	if l.ZoneInfo != "" {
		b = fmt.Appendf(b, "Archive zoneinfo: %s\n", l.ZoneInfo)
	}
	if l.Features != 0 {
		b = fmt.Appendf(b, "Archive features: 0x%x", l.Features)
		if unknown := l.Features &^ archive.FeatureQA; unknown != 0 {
			b = fmt.Appendf(b, " [unknown: 0x%x]", unknown)
		}
		b = append(b, '\n')
	}
	return fmt.Appendf(b, "PID for pmlogger: %d\n", l.PID)
}
