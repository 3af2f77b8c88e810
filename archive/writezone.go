package archive

import (
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/strftime"
)

// localTimeZone returns the time zone of this process in the form of $TZ, as C programs write it to
// labels: the value of the variable, or else the name and the offset of the current zone.
func localTimeZone(now time.Time) string {
	if tz := os.Getenv("TZ"); tz != "" {
		return tz
	}
	return strftime.Zone(now)
}
