package pmapi

import (
	"errors"
	"math/bits"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
)

// A WindowSpec is a time window in the form of the options -S, -T, -A and -O of PCP's tools; see
// PCPIntro(1). An empty text means that the option is not given.
//
// Start, Finish and Origin are points of time:
//
//	"10min"  "+1.5hour"        an interval, as for ParseInterval, after the start
//	"-10min"                   before the end of an archive; "-0" is the end
//	"@Tue Nov 14 22:30:15.5 2023"  "@22:30"  "@10:30pm"  "@Nov 14"  "@2023"
//	                           a date and time of day as ctime(3) prints them. Missing leading
//	                           parts are those of the start, or of the next year, month or day
//	                           if the time were else before the start. Missing trailing parts
//	                           are zero
//	"@2023-11-14T22:30:15Z"    a date and time of RFC 3339, unlike in the C library
//	"@2023-11-14 22:30"  "@yesterday 10:00"  "2 days ago"  "last week"  "@next monday"
//	                           a text in free form: dates, times of day, zones such as "EST"
//	                           and "+0530", weekdays, and units of time to add. Units count from
//	                           the start, or with "ago", "last" or a minus sign from the end of
//	                           an archive. All other forms are relative to the wall clock
type WindowSpec struct {
	Start  string // -S: the first point of time
	Finish string // -T: the last point of time, relative to Start
	Align  string // -A: an interval; Start and Origin are aligned to its multiples since 1970 in UTC
	Origin string // -O: of the first sample, relative to Start and Finish

	Location *time.Location // of dates and times of day; nil means time.Local
	Now      time.Time      // the wall clock; zero means time.Now()
}

// A Window is the window of time of a report.
type Window struct {
	Start  time.Time
	End    time.Time // zero means no end; may be before Start
	Origin time.Time // of the first sample, from Start to End unless End is before Start
}

// ErrAlignment means that the window has no multiple of WindowSpec.Align.
var ErrAlignment = errors.New("no multiple of the alignment in the time window")

// Window returns the window between first and last. These are the first and the last time of an
// archive, or for a live source the current time and the zero time, which means no end. A Start
// before first becomes first, and an End after last becomes last. Start may be after last.
//
// Start and Origin are rounded up to a multiple of Align, but an Origin that would be after End is
// rounded down. If the error is ErrAlignment, the window is valid but not aligned. An Align of 0 is
// an ErrAlignment too, but with the zero Window. All errors are *SpecErrors.
//
// The C library differs:
//
//   - Here a point of time after the year 9999 is an error.
//   - Here leap years are right after 2100, and "1 month" after 31 January is 2 or 3 March.
//   - Here months and weekdays are right with a zone and across a change of daylight saving, and
//     "today" begins at midnight on the day of such a change, too.
//   - Here the Origin of a live source is aligned upwards.
//
// If a change of daylight saving repeats or skips a time of day, Window may choose either time.
//
// The counterpart of pmParseTimeWindow(3) and pmParseHighResTimeWindow(3).
func (s WindowSpec) Window(first, last time.Time) (Window, error) {
	if s.Location == nil {
		s.Location = time.Local
	}
	if s.Now.IsZero() {
		s.Now = time.Now()
	}
	w := Window{Start: first, End: last}
	if err := s.set(&w.Start, s.Start, first, last); err != nil {
		return Window{}, err
	}
	if w.Start.Before(first) {
		w.Start = first
	}
	var step time.Duration
	var warning error
	if s.Align != "" {
		var err error
		if step, err = ParseInterval(s.Align); err != nil {
			return Window{}, err
		}
		if step == 0 {
			return Window{}, s.alignError()
		}
		if aligned := alignUp(w.Start, step); inWindow(aligned, first, last) {
			w.Start = aligned
		} else {
			warning = s.alignError()
		}
	}
	if err := s.set(&w.End, s.Finish, w.Start, last); err != nil {
		return Window{}, err
	}
	if !last.IsZero() && w.End.After(last) {
		w.End = last
	}
	if err := s.setOrigin(&w, step); err != nil {
		if !errors.Is(err, ErrAlignment) {
			return Window{}, err
		}
		warning = err
	}
	return w, warning
}

// set sets a point of time to that of an option, if it is given.
func (s WindowSpec) set(t *time.Time, text string, start, end time.Time) error {
	if text == "" {
		return nil
	}
	parsed, err := s.point(text, start, end)
	if err == nil {
		*t = parsed
	}
	return err
}

// setOrigin sets the origin of a window that has a start and an end.
func (s WindowSpec) setOrigin(w *Window, step time.Duration) error {
	w.Origin = w.Start
	if s.Origin == "" {
		return nil
	}
	if err := s.set(&w.Origin, s.Origin, w.Start, w.End); err != nil {
		return err
	}
	if w.Origin.Before(w.Start) {
		w.Origin = w.Start
	} else if !w.End.IsZero() && w.Origin.After(w.End) {
		w.Origin = w.End
	}
	if step == 0 {
		return nil
	}
	aligned := alignUp(w.Origin, step)
	if !w.End.IsZero() && aligned.After(w.End) {
		aligned = aligned.Add(-step)
	}
	if !inWindow(aligned, w.Start, w.End) {
		return s.alignError()
	}
	w.Origin = aligned
	return nil
}

// alignError returns an ErrAlignment with the interval.
func (s WindowSpec) alignError() error {
	return &SpecError{What: "alignment", Text: s.Align, Msg: ErrAlignment.Error(), cause: ErrAlignment}
}

// inWindow reports whether a time is from start to end. A zero end means no end.
func inWindow(t, start, end time.Time) bool {
	return !t.Before(start) && (end.IsZero() || !t.After(end))
}

// point parses a point of time. The error for an invalid text is that of the form that its first
// character selects.
func (s WindowSpec) point(text string, start, end time.Time) (time.Time, error) {
	rest := strings.TrimLeft(text, scan.Blanks)
	first := byte(0)
	if rest != "" {
		first = rest[0]
	}
	if strings.Contains(rest, "T") { // an error of Parse costs more than all that follows
		if t, err := time.Parse(time.RFC3339, strings.Trim(strings.TrimPrefix(rest, "@"), scan.Blanks)); err == nil {
			return t.In(s.Location), nil
		}
	}
	var err error
	switch {
	case first == '@':
		rest = rest[1:]
		var d partialDate
		if d, err = parsePartialDate(rest); err == nil {
			return d.after(start, s.Location), nil
		}
	case first == '-' && !end.IsZero():
		rest = rest[1:]
		var d time.Duration
		if d, err = ParseInterval(rest); err == nil {
			return end.Add(-d), nil
		}
	default:
		rest = strings.TrimPrefix(rest, "+")
		var d time.Duration
		if d, err = ParseInterval(rest); err == nil {
			return start.Add(d), nil
		}
	}
	if t, ok := freeTime(rest, start, end, s.Now, s.Location); ok {
		return t, nil
	}
	return time.Time{}, err
}

// alignUp returns the first multiple of step, counted from 1970 in UTC, that is not before t.
func alignUp(t time.Time, step time.Duration) time.Time {
	sec, nsec, before := t.Unix(), int64(t.Nanosecond()), t.Unix() < 0
	if before && nsec > 0 {
		sec, nsec = sec+1, nsec-1e9
	}
	if before {
		sec, nsec = -sec, -nsec
	}
	hi, lo := bits.Mul64(uint64(sec), 1e9)
	lo, carry := bits.Add64(lo, uint64(nsec), 0)
	past := time.Duration(bits.Rem64(hi+carry, lo, uint64(step)))
	switch {
	case past == 0:
		return t
	case before:
		return t.Add(past)
	}
	return t.Add(step - past)
}
