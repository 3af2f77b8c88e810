package archive

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// LocalTimeZone is the time zone of this process as in $TZ, as C programs put it into labels: the
// variable, or else the name and the offset of the present zone.
func LocalTimeZone(now time.Time) string {
	if tz := os.Getenv("TZ"); tz != "" {
		return tz
	}
	name, offset := now.Zone()
	if strings.ContainsAny(name, "+-0123456789") { // zones without a name, which a TZ has in brackets
		name = "<" + name + ">"
	}
	west := -offset / 60 // a TZ counts from here to UTC, in minutes here
	switch {
	case west == 0:
		return name
	case west%60 == 0:
		return fmt.Sprintf("%s%+d", name, west/60)
	}
	sign := '+'
	if west < 0 {
		sign, west = '-', -west
	}
	return fmt.Sprintf("%s%c%d:%02d", name, sign, west/60, west%60)
}
