package pmapi

import (
	"math"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
)

// ParseInterval parses an interval, the sum of numbers with units; blanks are ignored:
//
//	"2"   "0.5 sec"   "10 msec 5"   "1 hour 30 min"   "1min30"   "2.5days"
//
// Numbers have the form of strtod(3), may be hexadecimal, and must not be below 0. The units are,
// in upper or lower case and with or without an "s" at the end,
//
//	nanosecond, nsec · microsecond, usec · millisecond, msec · second, sec, s ·
//	minute, min, m · hour, hr, h · day, d
//
// so that "2ms" is two minutes. A number without a unit counts seconds. Blanks alone are 0, and an
// empty text is an error.
//
// The error is a *SpecError. The counterpart of pmParseInterval(3) and pmParseHighResInterval(3).
// These also accept NaN, which becomes a negative interval, and more than the 292 years of a
// time.Duration.
func ParseInterval(s string) (time.Duration, error) {
	if s == "" {
		return 0, &SpecError{What: "interval", Msg: "number expected"}
	}
	p := intervalParser{text: s}
	sum, d := 0.0, time.Duration(0)
	for p.blanks(); p.at < len(s); p.blanks() {
		at := p.at
		v, n, _ := scan.Float(s[at:])
		if n == 0 || !(v >= 0 && v <= 1<<63) {
			return 0, p.unexpected(at)
		}
		p.at += n
		p.blanks()
		unit, ok := p.unit()
		if !ok {
			return 0, p.unexpected(p.at)
		}
		sum += v * unit.times / unit.parts
		if d, ok = secondsDuration(sum); !ok {
			return 0, &SpecError{What: "interval", Text: s, Offset: at, Msg: tooLong}
		}
	}
	return d, nil
}

// secondsDuration returns a number of seconds as a Duration, rounded to nanoseconds. ok is false if
// it is too long.
func secondsDuration(sec float64) (_ time.Duration, ok bool) {
	whole, fraction := math.Modf(sec)
	if whole > math.MaxInt64/1e9 {
		return 0, false
	}
	d := time.Duration(whole)*time.Second + time.Duration(nanoseconds(fraction))
	return d, d >= 0
}

// nanoseconds rounds a part of a second, halves upwards. It takes account of the rounding
// error of the multiplication: half a nanosecond in decimal is often less in binary.
func nanoseconds(fraction float64) float64 {
	product := fraction * 1e9
	lost := math.FMA(fraction, 1e9, -product)
	whole, rest := math.Modf(product)
	if rest > 0.5 || rest == 0.5 && lost >= 0 {
		whole++
	}
	return whole
}

const tooLong = "more than 292 years"

type intervalParser struct {
	text string
	at   int
}

func (p *intervalParser) unexpected(at int) error {
	return &SpecError{What: "interval", Text: p.text, Offset: at, Msg: "unexpected value"}
}

func (p *intervalParser) blanks() {
	rest := p.text[p.at:]
	p.at += len(rest) - len(strings.TrimLeft(rest, scan.Blanks))
}

// unit parses a unit. A missing unit is the second.
func (p *intervalParser) unit() (intervalUnit, bool) {
	rest, n := p.text[p.at:], 0
	for n < len(rest) && scan.IsLetter(rest[n]) {
		n++
	}
	if n == 0 {
		return intervalUnit{times: 1, parts: 1}, true
	}
	word := rest[:n]
	if n > 1 && word[n-1]|0x20 == 's' {
		word = word[:n-1]
	}
	for _, u := range intervalUnits {
		if strings.EqualFold(word, u.name) {
			p.at += n
			return u, true
		}
	}
	return intervalUnit{}, false
}

// An intervalUnit is times/parts seconds. The C library divides too: multiplying by 1e-6
// would round differently.
type intervalUnit struct {
	name         string
	times, parts float64
}

var intervalUnits = [...]intervalUnit{
	{"nanosecond", 1, 1e9}, {"microsecond", 1, 1e6}, {"millisecond", 1, 1e3}, {"second", 1, 1}, {"minute", 60, 1}, {"hour", 3600, 1}, {"day", 86400, 1},
	{"nsec", 1, 1e9}, {"usec", 1, 1e6}, {"msec", 1, 1e3}, {"sec", 1, 1}, {"min", 60, 1}, {"hr", 3600, 1},
	{"s", 1, 1}, {"m", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1},
}
