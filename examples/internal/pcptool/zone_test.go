package pcptool

import (
	"testing"
	"time"
)

func TestNewZone(t *testing.T) {
	at := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
	for tz, want := range map[string]string{"UTC": "12:00", "EST": "12:00", "EST5": "07:00", "": "12:00", "foo": "12:00"} {
		if got := at.In(NewZone(tz)).Format("15:04"); got != want {
			t.Errorf("NewZone(%q): got %s, want %s", tz, got, want)
		}
	}
}
