package pcptool

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

func TestRateUnits(t *testing.T) {
	type rate struct {
		Units string
		Scale float64
	}
	for u, want := range map[pdu.Units]rate{
		pdu.NoUnits:                      {"/ sec", 1},
		pdu.UnitCount:                    {"count / sec", 1},
		pdu.SpaceKByte:                   {"Kbyte / sec", 1},
		pdu.TimeMSec:                     {"time utilization", 1e-3},
		pdu.TimeNSec:                     {"time utilization", 1e-9},
		pdu.TimeHour:                     {"time utilization", 3600},
		pdu.SpaceByte | pdu.PerMin:       {"byte / min^2", 60},
		pdu.MakeUnits(1, 1, 0, 1, 2, 0):  {"Kbyte", 1e-3},
		pdu.MakeUnits(0, -1, 0, 0, 3, 0): {"/ sec^2", 1},
		pdu.MakeUnits(0, 2, 0, 0, 4, 0):  {"min", 60},
	} {
		text, factor := RateUnits(u)
		got := rate{text, math.Round(factor*1e9) / 1e9}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", u, diff)
		}
	}
}
