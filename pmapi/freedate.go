package pmapi

import (
	"math"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
)

// A freeDate is a point of time that a text in free form describes: a date, a time of day, a zone,
// a weekday, and units of time to add, in any order. The grammar is that of getdate(3), as the C
// library has it:
//
//	item     = clock | zone | date | weekday | relative | number
//	clock    = N (am|pm) | N ":" N [":" N] [am|pm|±hhmm]
//	zone     = NAME ["dst"]
//	date     = N "/" N ["/" N] | YYYY "/" N "/" N | N -N -N
//	         | N MONTH [N] | N MONTH -N | MONTH N ["," N]
//	weekday  = N WEEKDAY | WEEKDAY [","]
//	relative = [N|±N] UNIT ["ago"] | [N|±N] ("yesterday"|"today"|"tomorrow"|"now"|"this") ["ago"]
//	number   = N   an hour, hours and minutes as 2230, a date as 20231114, or a year after a
//	               date and a time of day
//
// "next" is the number 2 and "last" is -1. Characters in parentheses are a comment.
type freeDate struct {
	tokens []dateToken
	at     int
	date   struct{ year, month, day int } // year is yearMissing without a date
	clock  struct{ hour, minute, second int }
	half   int // am or pm for an hour of 12, or 0 for an hour of 24

	weekday, ordinal int
	zoned            bool
	zoneWest         int // minutes west of UTC
	dst              bool
	months, seconds  int64 // to add

	dates, clocks, zones, weekdays, dayWords, relatives int // how many there were
}

// maxFreeDate limits the length of a text in free form, so that sums of its numbers cannot
// overflow.
const maxFreeDate = 1000

// freeTime returns the time that a text in free form describes, in a location. If the text has a
// unit after a blank, the time is relative to start, or to end if it has "ago" or "last" or begins
// with a minus sign. Other texts are relative to now. A zero end means a live source, which has no
// end. ok is false if the text has another form.
func freeTime(text string, start, end, now time.Time, loc *time.Location) (t time.Time, ok bool) {
	if len(text) > maxFreeDate {
		return time.Time{}, false
	}
	f := freeDate{tokens: scanFreeDate(text)}
	f.date.year = yearMissing
	if !f.parse() {
		return time.Time{}, false
	}
	base := now
	if lower := strings.ToLower(text); hasUnit(lower) {
		base = start
		if !end.IsZero() && (strings.HasPrefix(strings.TrimLeft(lower, scan.Blanks), "-") ||
			strings.Contains(lower, "ago") || strings.Contains(lower, "last")) {
			base = end
		}
	}
	return f.resolve(base.In(loc))
}

// hasUnit reports whether there is a unit after a blank, so in "1 week" but not in "1week".
func hasUnit(lower string) bool {
	lower = strings.TrimLeft(lower, scan.Blanks)
	for _, unit := range []string{"year", "month", "fortnight", "week", "day", "hour", "minute", "min", "second", "sec"} {
		if strings.Contains(lower, " "+unit) {
			return true
		}
	}
	return false
}

// next returns the kind of the token at a distance from the next one, or 0 after the last.
func (f *freeDate) next(distance int) tokenKind {
	if i := f.at + distance; i < len(f.tokens) {
		return f.tokens[i].kind
	}
	return 0
}

// take returns the value of the next token and skips it.
func (f *freeDate) take() int {
	f.at++
	return f.tokens[f.at-1].value
}

// accept skips the next token if it is of a kind.
func (f *freeDate) accept(kind tokenKind) bool {
	if f.next(0) != kind {
		return false
	}
	f.at++
	return true
}

// parse parses the whole text.
func (f *freeDate) parse() bool {
	for f.at < len(f.tokens) {
		if !f.item() {
			return false
		}
	}
	return f.dates <= 1 && f.clocks <= 1 && f.zones <= 1 && f.weekdays <= 1 && f.dayWords <= 1
}

func (f *freeDate) item() bool {
	switch kind := f.next(0); kind {
	case tokenNumber:
		return f.numberItem()
	case tokenSigned:
		if !f.next(1).isUnit() {
			return false
		}
		return f.relative(f.take())
	case tokenMonthUnit, tokenSecondUnit, tokenDayWord:
		return f.relative(1)
	case tokenMonth:
		return f.monthFirst()
	case tokenWeekday:
		f.setWeekday(1)
		f.accept(',')
		return true
	case tokenZone, tokenDayZone:
		f.zones++
		f.zoneWest = f.take()
		f.dst = kind == tokenDayZone || f.accept(tokenDST)
		f.zoned = true
		return true
	}
	return false
}

// numberItem parses an item that begins with a number.
func (f *freeDate) numberItem() bool {
	switch kind := f.next(1); {
	case kind == tokenMeridian:
		f.clocks++
		f.clock.hour = f.take()
		f.half = f.take()
		return true
	case kind == ':':
		return f.clockTime()
	case kind == '/', kind == tokenSigned, kind == tokenMonth:
		return f.numberFirst()
	case kind == tokenWeekday:
		f.setWeekday(f.take())
		return true
	case kind.isUnit():
		return f.relative(f.take())
	}
	f.loneNumber(f.take())
	return true
}

// clockTime parses N ":" N [":" N] [am|pm|±hhmm].
func (f *freeDate) clockTime() bool {
	f.clocks++
	f.clock.hour = f.take()
	f.at++ // the colon
	if f.next(0) != tokenNumber {
		return false
	}
	f.clock.minute = f.take()
	if f.accept(':') {
		if f.next(0) != tokenNumber {
			return false
		}
		f.clock.second = f.take()
	}
	switch f.next(0) {
	case tokenMeridian:
		f.half = f.take()
	case tokenSigned:
		east := f.take()
		f.zoneWest, f.dst, f.zoned = -(east/100*60 + east%100), false, true
	}
	return true
}

// numberFirst parses a date that begins with a number.
func (f *freeDate) numberFirst() bool {
	f.dates++
	first := f.take()
	switch f.next(0) {
	case '/':
		f.at++
		if f.next(0) != tokenNumber {
			return false
		}
		f.date.month, f.date.day = first, f.take()
		if !f.accept('/') {
			return true
		}
		if f.next(0) != tokenNumber {
			return false
		}
		if f.date.year = f.take(); first >= 1000 { // as in 2023/11/14
			f.date.year, f.date.month, f.date.day = first, f.date.day, f.date.year
		}
	case tokenSigned:
		month := -f.take()
		if f.next(0) != tokenSigned {
			return false
		}
		f.date.year, f.date.month, f.date.day = first, month, -f.take()
	case tokenMonth:
		f.date.day, f.date.month = first, f.take()
		switch f.next(0) {
		case tokenSigned:
			f.date.year = -f.take()
		case tokenNumber:
			f.date.year = f.take()
		}
	}
	return true
}

// monthFirst parses MONTH N ["," N].
func (f *freeDate) monthFirst() bool {
	f.dates++
	f.date.month = f.take()
	if f.next(0) != tokenNumber {
		return false
	}
	f.date.day = f.take()
	if !f.accept(',') {
		return true
	}
	if f.next(0) != tokenNumber {
		return false
	}
	f.date.year = f.take()
	return true
}

func (f *freeDate) setWeekday(ordinal int) {
	f.weekdays++
	f.ordinal, f.weekday = ordinal, f.take()
}

// relative parses a unit or a word such as "tomorrow". "ago" negates all units before it.
func (f *freeDate) relative(n int) bool {
	f.relatives++
	switch kind := f.next(0); kind {
	case tokenMonthUnit:
		f.months += int64(n) * int64(f.take())
	case tokenDayWord:
		f.dayWords++
		fallthrough
	default:
		f.seconds += int64(n) * int64(f.take())
	}
	if f.accept(tokenAgo) {
		f.months, f.seconds = -f.months, -f.seconds
	}
	return true
}

// loneNumber sets the part of the date that a number without a unit or separator stands for.
func (f *freeDate) loneNumber(n int) {
	switch {
	case f.clocks > 0 && f.dates > 0 && f.relatives == 0:
		f.date.year = n
	case n > 10000:
		f.dates++
		f.date.year, f.date.month, f.date.day = n/10000, n/100%100, n%100
	default:
		f.clocks++
		f.clock.hour, f.clock.minute, f.clock.second, f.half = n, 0, 0, 0
		if n >= 100 {
			f.clock.hour, f.clock.minute = n/100, n%100
		}
	}
}

// resolve returns the time that the items describe. Missing parts are those of base. The result is
// false for a date or a time of day out of range, before 1970, or after 9999.
func (f *freeDate) resolve(base time.Time) (time.Time, bool) {
	loc := base.Location()
	var t time.Time
	switch {
	case f.dates > 0 || f.clocks > 0 || f.weekdays > 0 || f.dayWords > 0:
		var ok bool
		if t, ok = f.absolute(base); !ok || t.Unix() < 0 {
			return time.Time{}, false
		}
	case f.relatives == 0:
		t = time.Date(base.Year(), base.Month(), base.Day(), 0, 0, 0, 0, loc)
	default:
		t = time.Unix(base.Unix(), 0).In(loc)
	}
	const limit = int64(maxYear) * 366 * secondsOfDay
	if max(f.seconds, -f.seconds) > limit || max(f.months, -f.months) > 12*maxYear || f.ordinal > 53*maxYear {
		return time.Time{}, false
	}
	t = time.Unix(t.Unix()+f.seconds, 0).In(loc)
	if f.months != 0 {
		t = addDate(t, int(f.months), 0)
	}
	if f.weekdays > 0 && f.dates == 0 {
		days := (f.weekday - int(t.Weekday()) + 7) % 7
		t = addDate(t, 0, days+7*(f.ordinal-min(1, max(0, f.ordinal))))
	}
	return t, t.Year() >= 1 && t.Year() <= maxYear
}

// yearMissing is the year of a date without one.
const yearMissing = math.MinInt32

// maxYear is the last year of a point of time.
const maxYear = 9999

// addDate adds months and days and keeps the time of day. A day that the month does not have runs
// over into the next.
func addDate(t time.Time, months, days int) time.Time {
	return time.Date(t.Year(), t.Month()+time.Month(months), t.Day()+days, t.Hour(), t.Minute(), t.Second(), 0, t.Location())
}

// absolute returns the time of the date, the time of day and the zone, without units to add.
func (f *freeDate) absolute(base time.Time) (time.Time, bool) {
	year, month, day := base.Year(), int(base.Month()), base.Day()
	if f.dates > 0 {
		if month, day = f.date.month, f.date.day; f.date.year != yearMissing {
			year = f.date.year
		}
	}
	year = max(year, -year)
	switch {
	case year < 69:
		year += 2000
	case year < 100:
		year += 1900
	}
	hour, ok := f.hour()
	c := f.clock
	if !ok || year < 1970 || year > maxYear || month < 1 || month > 12 || day < 1 || c.minute < 0 || c.minute > 59 ||
		c.second < 0 || c.second > 59 {
		return time.Time{}, false
	}
	if day > time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day() {
		return time.Time{}, false
	}
	loc := base.Location()
	if f.zoned {
		loc = time.UTC
		if c.minute += f.zoneWest; f.dst {
			hour--
		}
	}
	return time.Date(year, time.Month(month), day, hour, c.minute, c.second, 0, loc).In(base.Location()), true
}

// hour returns the hour of the time of day, from 0 to 23, or false if it is out of range.
func (f *freeDate) hour() (int, bool) {
	h := f.clock.hour
	if f.half == 0 {
		return h, h >= 0 && h <= 23
	}
	return h%12 + 12*(f.half-am), h >= 1 && h <= 12
}
