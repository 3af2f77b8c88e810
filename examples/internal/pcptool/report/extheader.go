package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// appendExtendedHeader appends the header that names the source of the values, if ExtendedHeader is
// set. Each of its lines begins with start.
func appendExtendedHeader(b []byte, o *Options, h *Header, start string, now time.Time) []byte {
	if !o.ExtendedHeader {
		return b
	}
	line := func(name, text string) { b = fmt.Appendf(b, "%s%9s: %s\n", start, name, text) }
	b = append(append(b, start...), '\n')
	if h.Archive != "" {
		line("archive", h.Archive)
	}
	if h.Local {
		line("host", "localhost, using DSO PMDAs")
	} else {
		line("host", h.Host)
	}
	line("timezone", zoneLine(h, now))
	line("start", h.Start.In(h.Location).Format(pcptool.CtimeLayout))
	if !h.End.IsZero() {
		line("end", h.End.In(h.Location).Format(pcptool.CtimeLayout))
	}
	line("metrics", columnCount(o, h))
	line("samples", sampleCount(o, h))
	line("interval", intervalText(o, h))
	if h.Duration > 0 || h.Samples > 0 || h.Archive != "" {
		line("duration", durationText(h.Duration))
	}
	return append(append(b, start...), '\n')
}

// zoneLine names the zone of the report and, if that is another, that of the environment.
func zoneLine(h *Header, now time.Time) string {
	reporting := zoneText(h.Start.In(h.Location))
	if current := zoneText(now.In(tool.LocalZone())); current != reporting {
		return fmt.Sprintf("%s (reporting, current is %s)", reporting, current)
	}
	return reporting
}

// columnCount says how many metrics and columns there are.
func columnCount(o *Options, h *Header) string {
	noun, when := "instances", ""
	if h.Columns == 1 {
		noun = "instance"
	}
	if o.DynamicHeader || o.FixedHeader {
		if when = " initially"; h.Archive != "" {
			when = " present in archive"
		}
	}
	return fmt.Sprintf("%d (%d %s%s)", len(h.Metrics), h.Columns, noun, when)
}

func sampleCount(o *Options, h *Header) string {
	switch {
	case h.Samples == 0:
		return "N/A"
	case !o.Interpol:
		return fmt.Sprintf("%d (requested)", h.Samples)
	}
	return strconv.Itoa(h.Samples)
}

func intervalText(o *Options, h *Header) string {
	if !o.Interpol {
		return "N/A"
	}
	v := h.Interval.Seconds()
	if v != 0 && v < 1e-4 {
		return strconv.FormatFloat(v, 'e', -1, 64) + " sec"
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text + " sec"
}

// durationText is a duration in days and HH:MM:SS.
func durationText(d time.Duration) string {
	s := int64(math.Floor(d.Seconds() + 0.5))
	days := s / 86400
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	switch days {
	case 0:
		return text
	case 1:
		return "1 day, " + text
	}
	return fmt.Sprintf("%d days, %s", days, text)
}
