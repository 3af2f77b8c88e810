package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/strftime"
)

// A timestamp formats times as strftime(3) does, with %f for microseconds, always six digits. Times
// have no zone: %Z and %z are empty.
type timestamp struct {
	format string
	pieces []string // between the %f
}

func newTimestamp(format string) timestamp {
	var piece strings.Builder
	ts := timestamp{format: format}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			piece.WriteByte(format[i])
			continue
		}
		i++
		switch format[i] {
		case 'z', 'Z':
		case 'f':
			ts.pieces = append(ts.pieces, piece.String())
			piece.Reset()
		default:
			piece.WriteString(format[i-1 : i+1])
		}
	}
	ts.pieces = append(ts.pieces, piece.String())
	return ts
}

// append appends a time.
func (ts *timestamp) append(b []byte, t time.Time) []byte {
	for i, piece := range ts.pieces {
		if i > 0 {
			b = fmt.Appendf(b, "%06d", t.Nanosecond()/int(time.Microsecond))
		}
		b = strftime.Append(b, piece, t)
	}
	return b
}

// zoneText is how a report names a zone: its offset from UTC at some time.
func zoneText(t time.Time) string {
	_, offset := t.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	text := fmt.Sprintf("UTC%c%d", sign, offset/3600)
	if minutes := offset / 60 % 60; minutes > 0 {
		text += fmt.Sprintf(":%02d", minutes)
	}
	return text
}
