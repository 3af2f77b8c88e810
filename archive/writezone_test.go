package archive

import (
	"testing"
	"time"
)

// TestLocalTimeZone checks that the time zone has the form of $TZ, with the offset from local time
// to UTC.
func TestLocalTimeZone(t *testing.T) {
	t.Setenv("TZ", "")
	for _, test := range []struct {
		name   string
		offset int
		want   string
	}{
		{"UTC", 0, "UTC"}, {"AEST", 36000, "AEST-10"}, {"EDT", -14400, "EDT+4"}, {"IST", 19800, "IST-5:30"},
		{"NST", -12600, "NST+3:30"}, {"+03", 10800, "<+03>-3"},
	} {
		if got := localTimeZone(time.Now().In(time.FixedZone(test.name, test.offset))); got != test.want {
			t.Errorf("%s %d: %q, want %q", test.name, test.offset, got, test.want)
		}
	}
	t.Setenv("TZ", "CET-1CEST")
	if got := localTimeZone(time.Now()); got != "CET-1CEST" {
		t.Errorf("TZ: %q", got)
	}
}
