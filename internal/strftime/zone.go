package strftime

import (
	"fmt"
	"strings"
	"time"
)

// Zone returns the zone of t in the form of $TZ: the abbreviation and the offset at that time in
// hours west of UTC, such as "CET-1". It has no rule for summer time. An abbreviation that is not a
// word, such as "+03", stands in angle brackets, because C libraries do not accept it otherwise.
func Zone(t time.Time) string {
	name, east := t.Zone()
	if strings.ContainsFunc(name, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }) {
		name = "<" + name + ">"
	}
	sign := '+'
	if east > 0 {
		sign = '-'
	}
	switch minutes := max(east, -east) / 60; {
	case minutes == 0:
		return name
	case minutes%60 == 0:
		return fmt.Sprintf("%s%c%d", name, sign, minutes/60)
	default:
		return fmt.Sprintf("%s%c%d:%02d", name, sign, minutes/60, minutes%60)
	}
}
