package pmapi

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseInterval(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"2", 2 * time.Second},
		{"  ", 0},
		{"-0", 0},
		{" 0.5\tSec\n", 500 * time.Millisecond},
		{"10 msec 5", 5*time.Second + 10*time.Millisecond},
		{"1 2", 3 * time.Second},
		{"1+1", 2 * time.Second},
		{"1 hour 30 min", 90 * time.Minute},
		{"1min30", 90 * time.Second},
		{"2ms", 2 * time.Minute},
		{"1ss", time.Second},
		{"3.5 days", 3*day + day/2},
		{"1d1h1m1s", day + time.Hour + time.Minute + time.Second},
		{"1e3", 1000 * time.Second},
		{"0x10", 16 * time.Second},
		{"7 nanoseconds 5 USEC 3 millisecond", 3*time.Millisecond + 5*time.Microsecond + 7},
		{"5e-10", 1},
		{"4e-10", 0},
		{"1e-400", 0},
		{"0.9999999996", time.Second},
		{"9223372036", 9223372036 * time.Second},
	} {
		if got, err := ParseInterval(tt.text); got != tt.want || err != nil {
			t.Errorf("%q: got %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestParseIntervalErrors(t *testing.T) {
	for _, tt := range []struct{ text, under string }{
		{"", "^ -- number expected"},
		{"-1", "^ -- unexpected value"},
		{"foo", "^ -- unexpected value"},
		{"inf", "^ -- unexpected value"},
		{"nan", "^ -- unexpected value"},
		{"1e19", "^ -- unexpected value"},
		{"1e", " ^ -- unexpected value"},
		{"1us", " ^ -- unexpected value"},
		{"1sss", " ^ -- unexpected value"},
		{"1 2 foo", "    ^ -- unexpected value"},
		{"1 sec s", "      ^ -- unexpected value"},
		{"10\tfurlongs", "  \t^ -- unexpected value"},
		{"292 days 1e15 hours", "         ^ -- more than 292 years"},
		{"9223372036.9", "^ -- more than 292 years"},
	} {
		d, err := ParseInterval(tt.text)
		if want := tt.text + "\n" + tt.under; err == nil || CaretText(err) != want || d != 0 {
			t.Errorf("%q: got %v, %v, want\n%s", tt.text, d, err, want)
		}
	}
}

func TestParseIntervalAllocates(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		if d, err := ParseInterval("1 hour 30 MINUTES 2.5s"); d != 90*time.Minute+2500*time.Millisecond || err != nil {
			t.Fatal(d, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParseInterval(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseInterval("1 hour 30 min"); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzParseInterval checks that an error comes with a zero interval and has the text, and
// that an interval is not negative, is the same in capitals and with 0 added,
// and prints as a text that parses to the same, within the precision of float64 seconds.
func FuzzParseInterval(f *testing.F) {
	for _, s := range []string{"", " ", "2", "0.5 sec", "10 msec 5", "1 hour 30 min", "1min30", "2ms", "1ss", "1e3", "0x1.8p3days", "-0x", "nan(1)", "1e18", "9223372036.9",
		"1,", "1 \u017fec", "\t1\n", "1 nanoseconds", "inf", "1.2.3", "+1 -1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseInterval(s)
		if err != nil {
			text := CaretText(err)
			if d != 0 || !strings.HasPrefix(text, s+"\n") || !strings.Contains(text[len(s):], "^ -- ") {
				t.Errorf("%q: %v beside %q", s, d, text)
			}
			return
		}
		if d < 0 {
			t.Errorf("%q: %v", s, d)
		}
		for _, same := range []string{strings.ToUpper(s), s + " 0", "0 " + s} {
			if again, err := ParseInterval(same); again != d || err != nil {
				t.Errorf("%q is %v, but %q is %v, %v", s, d, same, again, err)
			}
		}
		text := fmt.Sprintf("%d sec %d nsec", d/time.Second, d%time.Second)
		again, err := ParseInterval(text)
		if lost := math.Abs(float64(again - d)); err != nil || lost > 1+float64(d)*0x1p-51 {
			t.Errorf("%q is %v, but %q is %v, %v", s, d, text, again, err)
		}
	})
}
