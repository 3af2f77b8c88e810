package strftime

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestZone(t *testing.T) {
	winter := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		abbreviation string
		east         int // minutes
		want         string
	}{
		{"UTC", 0, "UTC"},
		{"GMT", 0, "GMT"},
		{"CET", 60, "CET-1"},
		{"EST", -300, "EST+5"},
		{"IST", 330, "IST-5:30"},
		{"NST", -210, "NST+3:30"},
		{"+0545", 345, "<+0545>-5:45"},
		{"-03", -180, "<-03>+3"},
	}
	got := make([]string, len(tests))
	want := make([]string, len(tests))
	for i, tt := range tests {
		got[i], want[i] = Zone(winter.In(time.FixedZone(tt.abbreviation, 60*tt.east))), tt.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
