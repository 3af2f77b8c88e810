package logtext

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	at := time.Unix(902428472, 257504999)
	for _, test := range []struct {
		zone   *time.Location
		digits int
		date   bool
		want   string
	}{
		{time.UTC, Millis, false, "18:34:32.257"},
		{time.UTC, Micros, false, "18:34:32.257504"},
		{time.UTC, Nanos, false, "18:34:32.257504999"},
		{time.UTC, Micros, true, "Thu Aug  6 18:34:32.257504 1998"},
		{time.FixedZone("", 10*3600), Millis, true, "Fri Aug  7 04:34:32.257 1998"},
	} {
		c := Clock{Location: test.zone, Digits: test.digits}
		appendTime := c.Append
		if test.date {
			appendTime = c.AppendDate
		}
		for range 2 { // the second time the clock knows the second
			if got := string(appendTime(nil, at)); got != test.want {
				t.Errorf("%v, %d digits: %s, want %s", test.zone, test.digits, got, test.want)
			}
		}
		if got, want := string(c.Append(nil, time.Unix(0, 0).Add(time.Second)))[3:8], "00:01"; got != want {
			t.Errorf("one second after 1970: %s, want %s", got, want)
		}
	}
	if got, want := Seconds(time.Unix(10, 900e6), time.Unix(12, 100e6)), 1.2; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("%v seconds, want %v", got, want)
	}
}
