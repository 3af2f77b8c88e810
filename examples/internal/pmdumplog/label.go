package pmdumplog

import (
	"fmt"
	"math/bits"

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
	end, err := d.arch.End()
	if err != nil {
		b = append(b, "UNKNOWN"...)
	} else {
		b = d.clock.AppendDate(b, end)
	}
	if d.stamp >= 3 && err == nil {
		b = fmt.Appendf(b, " %d", end.Unix())
	}
	b = append(b, '\n')
	if d.fullLabel {
		b = appendMore(b, &d.label)
	}
	d.out.Write(b)
	return nil
}

// appendMore appends the lines that -L prints in addition to -l.
func appendMore(b []byte, l *archive.Label) []byte {
	if l.TimeZone != "" {
		b = fmt.Appendf(b, "Archive timezone: %s\n", l.TimeZone)
	}
	if l.ZoneInfo != "" {
		b = fmt.Appendf(b, "Archive zoneinfo: %s\n", l.ZoneInfo)
	}
	if l.Features != 0 {
		b = appendFeatures(b, l.Features)
	}
	return fmt.Appendf(b, "PID for pmlogger: %d\n", l.PID)
}

// featureQA is the only feature bit in use, in PCP's own tests.
const featureQA = 1 << 31

// appendFeatures appends the bits of the features, and the numbers of the unknown ones.
func appendFeatures(b []byte, features uint32) []byte {
	b = fmt.Appendf(b, "Archive features: 0x%x", features)
	if unknown := features &^ featureQA; unknown != 0 {
		b = append(b, " [unknown:"...)
		for n := bits.Len32(unknown) - 1; n >= 0; n-- {
			if unknown&(1<<n) != 0 {
				b = fmt.Appendf(b, " bit_%02d", n)
			}
		}
		b = append(b, ']')
	}
	return append(b, '\n')
}
