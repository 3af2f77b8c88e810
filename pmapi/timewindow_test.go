package pmapi

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// windowTest are the source and the wall clock of TestWindow.
var (
	windowFirst = time.Unix(1700000000, 250_000_000).UTC() // 2023-11-14 22:13:20.25
	windowLast  = time.Unix(1700003600, 750_000_000).UTC() // 23:13:20.75
	windowNow   = time.Date(2024, time.July, 3, 9, 46, 40, 0, time.UTC)
)

func TestWindow(t *testing.T) {
	const none = "none"
	for _, tt := range []struct {
		spec               WindowSpec
		live               bool
		start, end, origin string
		warning            bool
	}{
		{start: "11-14 22:13:20.25", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "10min"}, start: "11-14 22:23:20.25", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "-10min"}, start: "11-14 23:03:20.75", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@22:30"}, start: "11-14 22:30:00", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@09:00"}, start: "11-15 09:00:00", end: "11-14 23:13:20.75", origin: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@Tue Nov 14 22:30:15.5 2023"}, start: "11-14 22:30:15.5", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@10:30pm"}, start: "11-14 22:30:00", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@Nov"}, start: "11-14 22:13:20.25", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@2023-11-14 23:00 +0030"}, start: "11-14 22:30:00", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "10 minutes ago"}, start: "11-14 23:03:20", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Finish: "@tomorrow"}, live: true, start: "11-14 22:13:20.25", end: "07-04 00:00:00"},
		{spec: WindowSpec{Start: "5", Finish: "10"}, live: true, start: "11-14 22:13:25.25", end: "11-14 22:13:35.25"},
		{spec: WindowSpec{Finish: "-5sec"}, live: true, start: "11-14 22:13:20.25", end: "07-03 09:46:35", origin: "11-14 22:13:20.25"},
		{spec: WindowSpec{Align: "5min"}, start: "11-14 22:15:00", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Align: "15min", Origin: "7m"}, start: "11-14 22:15:00", end: "11-14 23:13:20.75", origin: "11-14 22:30:00"},
		{spec: WindowSpec{Align: "2hour"}, start: "11-14 22:13:20.25", end: "11-14 23:13:20.75", warning: true},
		{spec: WindowSpec{Origin: "-0"}, start: "11-14 22:13:20.25", end: "11-14 23:13:20.75", origin: "11-14 23:13:20.75"},
		{spec: WindowSpec{Align: "1hour", Origin: "-0"}, start: "11-14 23:00:00", end: "11-14 23:13:20.75", origin: "11-14 23:00:00"},
		{spec: WindowSpec{Start: "2hour"}, start: "11-15 00:13:20.25", end: "11-14 23:13:20.75"},
		{spec: WindowSpec{Start: "@31 jan 2024"}, start: "01-31 00:00:00", end: "11-14 23:13:20.75"},
		{live: true, start: "11-14 22:13:20.25", end: none},
		{spec: WindowSpec{Start: "@2023-11-14T22:30:00.5Z", Finish: " 2023-11-15T00:00:00+01:00 "}, start: "11-14 22:30:00.5", end: "11-14 23:00:00"},
	} {
		tt.spec.Location, tt.spec.Now = time.UTC, windowNow
		last := windowLast
		if tt.live {
			last = time.Time{}
		}
		if tt.origin == "" || tt.spec.Origin == "" {
			tt.origin = tt.start
		}
		w, err := tt.spec.Window(windowFirst, last)
		stamp := func(t time.Time) string {
			if t.IsZero() {
				return none
			}
			return t.Format("01-02 15:04:05.999999999")
		}
		if got, want := [...]string{stamp(w.Start), stamp(w.End), stamp(w.Origin)}, [...]string{tt.start, tt.end, tt.origin}; got != want || errors.Is(err, ErrAlignment) != tt.warning {
			t.Errorf("%+v: got %v, %v, want %v", tt.spec, got, err, want)
		}
	}
}

func TestWindowErrors(t *testing.T) {
	for _, tt := range []struct {
		spec WindowSpec
		want string
	}{
		{WindowSpec{Start: "foo"}, "foo\n^ -- unexpected value"},
		{WindowSpec{Start: "+foo"}, "foo\n^ -- unexpected value"},
		{WindowSpec{Finish: "-1 foo"}, "1 foo\n  ^ -- unexpected value"},
		{WindowSpec{Origin: "@12:99"}, "12:99\n   ^ -- unexpected value"},
		{WindowSpec{Start: "@ -5"}, " -5\n ^ -- unexpected value"},
		{WindowSpec{Start: "@Mon Nov"}, ""},
		{WindowSpec{Start: "@0am"}, "0am\n   ^ -- more information expected"},
		{WindowSpec{Start: "@14 Nov 22:30"}, "14 Nov 22:30\n   ^ -- unexpected value"},
		{WindowSpec{Start: "@31 feb 2023"}, "31 feb 2023\n   ^ -- unexpected value"},
		{WindowSpec{Start: "@999999999 years"}, "999999999 years\n^ -- unexpected value"},
		{WindowSpec{Start: "@1 jan 10000"}, "1 jan 10000\n  ^ -- unexpected value"},
		{WindowSpec{Align: "0"}, "0\n^ -- no multiple of the alignment in the time window"},
		{WindowSpec{Align: "1 hour x"}, "1 hour x\n       ^ -- unexpected value"},
	} {
		tt.spec.Location, tt.spec.Now = time.UTC, windowNow
		got := ""
		w, err := tt.spec.Window(windowFirst, windowLast)
		if err != nil {
			got = CaretText(err)
		}
		if got != tt.want || err != nil && w != (Window{}) {
			t.Errorf("%+v: got %v and\n%s\nwant\n%s", tt.spec, w, got, tt.want)
		}
	}
}

func TestAlignUp(t *testing.T) {
	for _, tt := range []struct {
		sec, nsec int64
		step      time.Duration
		want      time.Duration // after
	}{
		{1700000000, 0, time.Second, 0},
		{1700000000, 1, time.Second, time.Second - 1},
		{253402300799, 5e8, 24 * time.Hour, time.Second / 2},
		{-1, 5e8, time.Second, time.Second / 2},
		{-1, 5e8, time.Minute, time.Second / 2},
		{-61, 0, time.Minute, time.Second},
		{-60, 0, time.Minute, 0},
		{7, 0, 3 * time.Nanosecond, 2},
	} {
		at := time.Unix(tt.sec, tt.nsec)
		if got := alignUp(at, tt.step).Sub(at); got != tt.want {
			t.Errorf("%d.%09d aligned to %v is %v later, want %v", tt.sec, tt.nsec, tt.step, got, tt.want)
		}
	}
}

// FuzzWindow checks that an error has no window and names the given text. A window must lie within
// its source, contain its origin, be the same with blanks before the texts, and be aligned.
func FuzzWindow(f *testing.F) {
	for _, s := range []string{"", "10min", "-10min", "@22:30", "@Tue Nov 14 22:30:15.5 2023", "2 days ago", "@2023-11-14 23:00 EST dst", "@next mon, 10 p.m.", "@(x) 1/2/3",
		"@999999999 fortnights ago", "@ 20231114", "-0", "last week"} {
		f.Add(s, "5", "", s)
		f.Add("", s, "7min", "-0")
	}
	f.Fuzz(func(t *testing.T, start, finish, align, origin string) {
		s := WindowSpec{Start: start, Finish: finish, Align: align, Origin: origin, Location: time.UTC, Now: windowNow}
		for _, last := range []time.Time{windowLast, {}} {
			w, err := s.Window(windowFirst, last)
			if err != nil && !(errors.Is(err, ErrAlignment) && w != Window{}) {
				if w != (Window{}) || !strings.Contains(CaretText(err), "^ -- ") {
					t.Errorf("%+v: %v, %v", s, w, err)
				}
				continue
			}
			checkWindow(t, s, w, last, err)
			again := s
			for _, text := range []*string{&again.Start, &again.Finish, &again.Align, &again.Origin} {
				if *text != "" {
					*text = " " + *text
				}
			}
			if w2, err2 := again.Window(windowFirst, last); w2 != w || (err == nil) != (err2 == nil) {
				t.Errorf("%+v: %v, with blanks %v, %v", s, w, w2, err2)
			}
		}
	})
}

func checkWindow(t *testing.T, s WindowSpec, w Window, last time.Time, err error) {
	t.Helper()
	switch {
	case w.Start.Before(windowFirst):
		t.Errorf("%+v: starts at %v, before %v", s, w.Start, windowFirst)
	case !last.IsZero() && (w.End.IsZero() || w.End.After(last)):
		t.Errorf("%+v: ends at %v, after %v", s, w.End, last)
	case w.End.IsZero() || !w.End.Before(w.Start):
		if !inWindow(w.Origin, w.Start, w.End) {
			t.Errorf("%+v: %v has its origin outside", s, w)
		}
	}
	if err == nil && s.Align != "" {
		step, _ := ParseInterval(s.Align)
		if alignUp(w.Start, step) != w.Start || alignUp(w.Origin, step) != w.Origin {
			t.Errorf("%+v: %v is not aligned", s, w)
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	s := WindowSpec{Start: "@22:30", Finish: "-10min", Align: "1min", Location: time.UTC, Now: windowNow}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Window(windowFirst, windowLast); err != nil {
			b.Fatal(err)
		}
	}
}
