package send

import (
	"net/http"
	"testing"
	"time"
	"unicode/utf8"
)

var testTime = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-1": 0, "1.5": 0, "soon": 0, " 5": 0, "0x10": 0, "NaN": 0,
		"3600": time.Hour, "3601": time.Hour, "18446744073709551615": time.Hour, "18446744073709551616": 0, "99999999999999999999999999": 0,
		testTime.Add(time.Minute).Format(http.TimeFormat):        time.Minute,
		testTime.Add(-time.Minute).Format(http.TimeFormat):       0,
		testTime.Add(1000 * time.Hour).Format(http.TimeFormat):   time.Hour,
		"Fri, 31 Dec 9999 23:59:59 GMT":                          time.Hour,
		"Monday, 23-Nov-26 12:00:09 GMT":                         9 * time.Second,
		testTime.Add(time.Minute).UTC().Format(time.RFC3339Nano): 0,
	} {
		if got := retryAfter(header, testTime); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

// FuzzReply: a receiver's reply can neither delay a sender forever nor fill its log.
func FuzzReply(f *testing.F) {
	f.Add("120", "away")
	f.Fuzz(func(t *testing.T, header, text string) {
		if d := retryAfter(header, testTime); d < 0 || d > maxRetryAfter {
			t.Errorf("to wait %v", d)
		}
		if s := Shortened(text); len(s) > maxText || !utf8.ValidString(s) {
			t.Errorf("%d bytes", len(s))
		}
	})
}
