package archive

import (
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/strftime"
)

// LocalTimeZone is the time zone of this process as in $TZ, as C programs put it into labels: the
// variable, or else the name and the offset of the present zone.
func LocalTimeZone(now time.Time) string {
	if tz := os.Getenv("TZ"); tz != "" {
		return tz
	}
	return strftime.Zone(now)
}
