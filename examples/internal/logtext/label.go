package logtext

import (
	"fmt"

	"github.com/pcp-go/pcp/archive"
)

// AppendLabelHead appends the first lines of a label, up to the time of the start.
func AppendLabelHead(b []byte, l *archive.Label, c *Clock, indent string) []byte {
	b = fmt.Appendf(b, "Log Label (Log Format Version %d)\nPerformance metrics from host %s\n", l.Version, l.Host)
	b = append(append(b, indent...), "commencing "...)
	return c.AppendDate(b, l.Start)
}
