package pmapi

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
)

// A partialDate is a date and time of day as ctime(3) prints them. Leading and trailing parts may
// be missing.
type partialDate struct {
	year, month, day, hour, minute int // -1 for one that is missing; month 0 is January
	second, nsec                   int
}

const missing = -1

// parsePartialDate parses
//
//	[weekday] [month] [day] [hour[:[minute][:[second]]] [am|pm]] [year]
//
// as "Tue Nov 14 22:13:20.25 2023", "Nov", "22:30" or "10:30pm". The weekday is not checked against
// the date. A text of blanks alone has no part. The counterpart of __pmParseCtime(3).
func parsePartialDate(text string) (partialDate, error) {
	p := dateScanner{text: text}
	d := partialDate{year: missing, month: missing, day: missing, hour: missing, minute: missing}
	if p.blanks(); p.at == len(text) {
		return d, nil
	}
	weekday := p.name(weekdayNames[:])
	d.month = p.name(monthNames[:])
	p.dayOrHour(&d)
	if d.hour == missing {
		d.hour, _ = p.integer(0, 23)
	}
	p.clock(&d)
	if d.day == 0 && d.hour != missing { // as in C; otherwise the last day of the previous month
		d.day = missing
	}
	d.year, _ = p.integer(1900, 9999)
	switch p.blanks(); {
	case p.at < len(text):
		return d, &SpecError{What: "time", Text: text, Offset: p.at, Msg: "unexpected value"}
	case d.month == missing && d.day == missing &&
		(weekday != missing || d.hour != missing && d.minute == missing && d.year == missing):
		return d, &SpecError{What: "time", Text: text, Offset: p.at, Msg: "more information expected"}
	}
	d.fill()
	return d, nil
}

// fill sets the parts that are missing after others: what follows a year or a month is the first of
// it.
func (d *partialDate) fill() {
	if d.year != missing {
		d.month = max(d.month, 0)
	}
	if d.month != missing && d.day == missing {
		d.day = 1
	}
	d.hour, d.minute = max(d.hour, 0), max(d.minute, 0)
}

// after returns the time of the date. Missing leading parts are those of an origin. If the first
// part that is present is less than that of the origin, the time is in the next year, month or day.
// Parts out of range, such as 31 November, run over into the next month.
func (d partialDate) after(origin time.Time, loc *time.Location) time.Time {
	if d.hour == missing {
		return origin // no part at all
	}
	o := origin.In(loc)
	year, month, day := d.year, d.month, d.day
	if year == missing {
		year = o.Year()
		switch originMonth := int(o.Month()) - 1; {
		case month != missing:
			if month < originMonth {
				year++
			}
		case day != missing:
			if month = originMonth; day < o.Day() {
				month++
			}
		default:
			if month, day = originMonth, o.Day(); d.hour < o.Hour() {
				day++
			}
		}
	}
	return time.Date(year, time.Month(month+1), day, d.hour, d.minute, d.second, d.nsec, loc)
}

// A dateScanner reads the parts of a date. If the next text is another part, the scanner stays
// before it.
type dateScanner struct {
	text string
	at   int
}

func (p *dateScanner) blanks() {
	p.at = len(p.text) - len(strings.TrimLeft(p.text[p.at:], scan.Blanks))
}

// peek skips blanks and returns the next character, 0 at the end.
func (p *dateScanner) peek() byte {
	if p.blanks(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// name reads the first three letters of a name and returns its index, or missing.
func (p *dateScanner) name(names []string) int {
	p.blanks()
	if len(p.text)-p.at < 3 {
		return missing
	}
	word := p.text[p.at : p.at+3]
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name[:3], word) })
	if i >= 0 {
		p.at += 3
	}
	return i // missing is what IndexFunc returns for none
}

// integer reads a whole number from least to most.
func (p *dateScanner) integer(least, most int) (n int, ok bool) {
	p.blanks()
	end := p.at
	if end < len(p.text) && (p.text[end] == '+' || p.text[end] == '-') {
		end++
	}
	for end < len(p.text) && scan.IsDigit(p.text[end]) {
		end++
	}
	n, err := strconv.Atoi(p.text[p.at:end])
	if err != nil || n < least || n > most {
		return missing, false
	}
	p.at = end
	return n, true
}

// dayOrHour reads a number that is the day, or the hour if a colon follows, or if the month is
// missing and no hour follows.
func (p *dateScanner) dayOrHour(d *partialDate) {
	n, ok := p.integer(0, 31)
	if !ok {
		return
	}
	isHour := n <= 23 && p.peek() == ':'
	if n <= 23 && d.month == missing && !isHour {
		ahead := *p
		_, follows := ahead.integer(0, 23)
		isHour = !follows
	}
	if isHour {
		d.hour = n
	} else {
		d.day = n
	}
}

// clock reads what follows the hour of a time of day.
func (p *dateScanner) clock(d *partialDate) {
	if p.peek() == ':' {
		p.at++
		d.hour = max(d.hour, 0)
		if d.minute, _ = p.integer(0, 59); d.minute == missing {
			d.minute = 0
		}
		if p.peek() == ':' {
			p.at++
			p.seconds(d)
		}
	}
	if d.hour != missing && d.hour <= 12 {
		if pm, ok := p.meridian(); ok {
			d.hour = d.hour%12 + pm
		}
	}
}

// seconds reads seconds with a fraction, up to the 61 that C allows for leap seconds.
func (p *dateScanner) seconds(d *partialDate) {
	p.blanks()
	v, n, _ := scan.Float(p.text[p.at:])
	if n == 0 || !(v >= 0 && v <= 61) {
		return
	}
	p.at += n
	whole, fraction := math.Modf(v)
	// C truncates the exact product. The float64 product may be rounded up to a whole nanosecond.
	nsec := fraction * 1e9
	if math.Floor(nsec) == nsec && math.FMA(fraction, 1e9, -nsec) < 0 {
		nsec--
	}
	d.second, d.nsec = int(whole), int(nsec)
}

// meridian reads am or pm and returns the hours that it adds.
func (p *dateScanner) meridian() (hours int, ok bool) {
	p.blanks()
	rest := p.text[p.at:]
	if len(rest) < 2 || rest[1]|0x20 != 'm' || len(rest) > 2 && scan.IsLetter(rest[2]) {
		return 0, false
	}
	switch rest[0] | 0x20 {
	case 'p':
		hours = 12
	case 'a':
	default:
		return 0, false
	}
	p.at += 2
	return hours, true
}
