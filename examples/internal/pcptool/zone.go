package pcptool

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// NewZone returns the time zone that pmNewZone(3) makes of a value of TZ. Three letters, as "UTC"
// but also "EST", are the name of a zone with offset 0.
func NewZone(tz string) *time.Location { return tool.LoadZone(withOffset(tz)) }

// withOffset gives a zone that is but a name, such as UTC, the offset that a TZ needs.
func withOffset(tz string) string {
	if len(tz) == 3 {
		tz += "+0"
	}
	return tz
}

// HostZone is the time zone of a collector, as with -z. If it does not tell, the error is
// pdu.ErrValue. The counterpart of pmNewContextZone(3).
func HostZone(ctx context.Context, pc *pmapi.Context) (*time.Location, error) {
	tz, err := tool.HostZone(ctx, pc)
	if err != nil {
		return nil, err
	}
	return NewZone(tz), nil
}
