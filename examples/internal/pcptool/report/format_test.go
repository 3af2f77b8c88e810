package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		value            string
		width, precision int
		want             string
	}{
		{"99.996", 3, 3, " 99"},
		{"99.996", 4, 3, " 100"},
		{"99.996", 5, 3, "100.0"},
		{"99.996", 6, 3, "99.996"},
		{"99.996", 9, 50, "99.996000"},
		{"-99.996", 3, 3, "-99"},
		{"1234567.891", 6, 3, "   xxx"},
		{"1234567.891", 7, 3, "1234567"},
		{"1234567.891", 8, 3, " 1234567"},
		{"1234567.891", 9, 3, "1234567.9"},
		{"-.5", 3, 3, " -0"},
		{"-.5", 4, 3, "-0.5"},
		{"-.5", 5, 3, "-0.50"},
		{"9.9996", 3, 3, " 10"},
		{"9.9996", 4, 3, "10.0"},
		{"9.9996", 5, 3, "10.00"},
		{"1.", 9, 50, "1.0000000"},
		{"1.", 3, 0, "  1"},
		{"NaN", 3, 3, "NaN"},
		{"inf", 3, 3, "inf"},
		{"-inf", 3, 3, "xxx"},
		{"-inf", 4, 3, "-inf"},
		{"246912", 5, 3, "  xxx"},
		{"246912", 6, 3, "246912"},
		{"-1", 3, 3, " -1"},
	} {
		m := &Metric{Width: test.width, Precision: test.precision}
		f := newFormatter("  ")
		if got := string(f.appendValue(nil, atom(test.value), m)); got != test.want {
			t.Errorf("%s, width %d, precision %d: %q, want %q", test.value, test.width, test.precision, got, test.want)
		}
	}
}

// Numbers fill their columns and never leave them.
func TestNumbersFit(t *testing.T) {
	f := newFormatter("  ")
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1e6, 1e6)).Draw(t, "value")
		m := &Metric{Width: rapid.IntRange(3, 30).Draw(t, "width"), Precision: rapid.IntRange(0, 40).Draw(t, "precision")}
		text := string(f.appendValue(nil, pdu.Float64(v), m))
		if len(text) != m.Width {
			t.Fatalf("%q has %d bytes, not %d", text, len(text), m.Width)
		}
		_, fraction, _ := strings.Cut(text, ".")
		if len(fraction) > m.Precision {
			t.Fatalf("%q has more than %d digits after the point", text, m.Precision)
		}
		got := 0.0
		if _, err := fmt.Sscan(text, &got); err != nil {
			if strings.TrimSpace(text) != overflow {
				t.Fatalf("%q: %v", text, err)
			}
			if len(fmt.Sprintf("%.0f", math.Trunc(v))) <= m.Width {
				t.Fatalf("%q, but %v fits", text, v)
			}
			return
		}
		if math.Abs(got-v) >= 1 {
			t.Fatalf("%v is printed as %q", v, text)
		}
	})
}

func TestTexts(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 3, "   "},
		{"abc", 5, "  abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"åäö", 4, " åäö"},
		{"åäö", 2, "åä"},
		{"🙃a", 1, "🙃"},
		{"\xff\xfe\xfd", 2, "\xff\xfe"},
	} {
		if got := string(appendCell(nil, test.text, test.width)); got != test.want {
			t.Errorf("%q, width %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, test := range []struct{ delimiter, text, want string }{
		{"  ", "a  b\nc", `a  b\nc`},
		{"", "a  b", "a  b"},
		{"|", "a|b||c", "a_b__c"},
		{"_", "a_b", "a b"},
		{". ", "a. b.c ", "a_b.c "},
	} {
		f := newFormatter(test.delimiter)
		if got := string(f.appendString(nil, []byte(test.text))); got != test.want {
			t.Errorf("%q, delimiter %q: %q, want %q", test.text, test.delimiter, got, test.want)
		}
	}
}

func TestTimestamps(t *testing.T) {
	at := time.Date(2013, 7, 6, 9, 5, 3, 250_000_999, time.UTC)
	for _, test := range []struct{ format, want string }{
		{"%H:%M:%S", "09:05:03"},
		{"%S.%f", "03.250000"},
		{"%%f %%%f %f%f", "%f %250000 250000250000"},
		{"%H:%M %Z%z.", "09:05 ."},
		{"%-S|%e", "3| 6"},
		{"%A, %B %d %c", "Saturday, July 06 Sat Jul  6 09:05:03 2013"},
		{"%s", "1373101503"},
		{"%q", "%q"},
		{"%", "%"},
		{"", ""},
		{"ä%S", "ä03"},
	} {
		stamp := newTimestamp(test.format)
		if got := string(stamp.append(nil, at)); got != test.want {
			t.Errorf("%q: %q, want %q", test.format, got, test.want)
		}
	}
}

func TestZones(t *testing.T) {
	for _, test := range []struct {
		offset int
		want   string
	}{{0, "UTC+0"}, {-5 * 3600, "UTC-5"}, {19800, "UTC+5:30"}, {-19815, "UTC-5:30"}, {36000, "UTC+10"}, {-1800, "UTC-0:30"}} {
		if got := zoneText(time.Unix(0, 0).In(time.FixedZone("", test.offset))); got != test.want {
			t.Errorf("%d: %s, want %s", test.offset, got, test.want)
		}
	}
}

func TestExtendedTexts(t *testing.T) {
	for _, test := range []struct {
		d        time.Duration
		duration string
		interval string
	}{
		{0, "00:00:00", "0.0 sec"},
		{100 * time.Microsecond, "00:00:00", "0.0001 sec"},
		{10 * time.Microsecond, "00:00:00", "1e-05 sec"},
		{333 * time.Millisecond, "00:00:00", "0.333 sec"},
		{500 * time.Millisecond, "00:00:01", "0.5 sec"},
		{1500 * time.Millisecond, "00:00:02", "1.5 sec"},
		{86321 * time.Second, "23:58:41", "86321.0 sec"},
		{24 * time.Hour, "1 day, 00:00:00", "86400.0 sec"},
		{9 * 24 * time.Hour, "9 days, 00:00:00", "777600.0 sec"},
	} {
		got := [...]string{durationText(test.d), intervalText(&Options{Interpol: true}, &Header{Interval: test.d})}
		if diff := cmp.Diff([...]string{test.duration, test.interval}, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.d, diff)
		}
	}
}
