package strftime

import (
	"testing"
	"time"
)

func TestAppend(t *testing.T) {
	at := time.Date(2024, time.December, 30, 7, 8, 9, 0, time.FixedZone("XST", -(5*3600+1800)))
	for format, want := range map[string]string{
		"":                     "",
		"%":                    "%",
		"%F %T %z %Z":          "2024-12-30 07:08:09 -0530 XST",
		"%c":                   "Mon Dec 30 07:08:09 2024",
		"%a %A %b %B %h":       "Mon Monday Dec December Dec",
		"%j %U %W %V %G %g %u": "365 52 53 01 2025 25 1",
		"%I %k %l %p %P %r":    "07  7  7 AM am 07:08:09 AM",
		"%x %X %D %R":          "12/30/24 07:08:09 12/30/24 07:08",
		"%C%y %e %s":           "2024 30 1735562289",
		"%-m %_5d %5Y %^a %#Z": "12    30 02024 MON xst",
		"%12a|%012T|%-5H":      "         Mon|000007:08:09|    7",
		"%Q %5Q %EY %EH %OH":   "%Q   %5Q 2024 %EH 07",
		"%n%t%%":               "\n\t%",
	} {
		if got := string(Append(nil, format, at)); got != want {
			t.Errorf("%q: got %q, want %q", format, got, want)
		}
	}
}

// FuzzAppend checks that formats without a directive stand for themselves, and that the length is
// limited.
func FuzzAppend(f *testing.F) {
	for _, format := range []string{"%F %T", "%_-0^#12EOd", "%99999999999999999999d", "é%é", "%5"} {
		f.Add(format, int64(1700000000))
	}
	f.Fuzz(func(t *testing.T, format string, sec int64) {
		percents := 0
		for _, c := range format {
			if c == '%' {
				percents++
			}
		}
		got := Append(nil, format, time.Unix(sec, 0).UTC())
		if percents == 0 && string(got) != format {
			t.Errorf("%q: got %q", format, got)
		}
		if most := len(format) + percents*(2*MaxWidth+64); len(got) > most {
			t.Errorf("%q: %d bytes, at most %d expected", format, len(got), most)
		}
	})
}
