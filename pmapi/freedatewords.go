package pmapi

import (
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A tokenKind is a kind of dateToken, or the character that is the token.
type tokenKind byte

const (
	tokenNumber     tokenKind = iota + 0x80 // without a sign; also "first" to "twelfth", "next" and "last"
	tokenSigned                             // with a sign
	tokenMeridian                           // value am or pm
	tokenMonth                              // 1..12
	tokenWeekday                            // 0..6, from Sunday
	tokenZone                               // minutes west of UTC
	tokenDayZone                            // the same for a zone of daylight saving, which is an hour less
	tokenDST                                // "dst"
	tokenMonthUnit                          // months
	tokenSecondUnit                         // seconds
	tokenDayWord                            // "yesterday", "today" or "tomorrow": seconds from today
	tokenAgo                                // "ago"
	tokenUnknown
)

// Values of tokenMeridian.
const (
	am = 1
	pm = 2
)

func (k tokenKind) isUnit() bool {
	return k == tokenMonthUnit || k == tokenSecondUnit || k == tokenDayWord
}

type dateToken struct {
	kind  tokenKind
	value int
}

// maxDateNumber is the greatest number in a date in free form.
const maxDateNumber = 999_999_999

// scanFreeDate splits a text into tokens.
func scanFreeDate(text string) []dateToken {
	var tokens []dateToken
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.IndexByte(scan.Blanks, c) >= 0:
			i++
		case scan.IsDigit(c), c == '-', c == '+':
			t, n := scanDateNumber(text[i:])
			if t.kind != 0 { // signs without a number are ignored
				tokens = append(tokens, t)
			}
			i += n
		case scan.IsLetter(c):
			n := 1
			for i+n < len(text) && (scan.IsLetter(text[i+n]) || text[i+n] == '.') {
				n++
			}
			tokens = append(tokens, lookupDateWord(strings.ToLower(text[i:i+n])))
			i += n
		case c == '(':
			i += commentLen(text[i:])
		default:
			tokens = append(tokens, dateToken{kind: tokenKind(min(c, 0x7f))})
			i++
		}
	}
	return tokens
}

// scanDateNumber reads a number, and the sign before it.
func scanDateNumber(text string) (t dateToken, n int) {
	sign := 1
	t.kind = tokenNumber
	if !scan.IsDigit(text[0]) {
		if n = 1; len(text) == 1 || !scan.IsDigit(text[1]) {
			return dateToken{}, 1
		}
		if t.kind = tokenSigned; text[0] == '-' {
			sign = -1
		}
	}
	for ; n < len(text) && scan.IsDigit(text[n]); n++ {
		if t.value = t.value*10 + int(text[n]-'0'); t.value > maxDateNumber {
			t.kind, t.value = tokenUnknown, 0
		}
	}
	t.value *= sign
	return t, n
}

// commentLen returns the length of a comment, which may contain comments. A comment without an end
// extends to the end of the text.
func commentLen(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

var (
	monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"}
	weekdayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// lookupDateWord finds a word in lower case. Months and weekdays may be abbreviated to three
// letters, with or without a period, units may have an "s", and zones may have periods.
func lookupDateWord(word string) dateToken {
	switch word {
	case "am", "a.m.":
		return dateToken{tokenMeridian, am}
	case "pm", "p.m.":
		return dateToken{tokenMeridian, pm}
	}
	if t, ok := lookupCalendarName(word); ok {
		return t
	}
	if t, ok := dateWords[word]; ok {
		return t
	}
	if t, ok := dateWords[strings.TrimSuffix(word, "s")]; ok && (t.kind == tokenMonthUnit || t.kind == tokenSecondUnit) &&
		t.value != 0 {
		return t
	}
	if len(word) == 1 && word[0] != 'j' {
		return dateToken{tokenZone, militaryZone(word[0])}
	}
	if strings.Contains(word, ".") {
		if t, ok := dateWords[strings.ReplaceAll(word, ".", "")]; ok && (t.kind == tokenZone || t.kind == tokenDayZone) {
			return t
		}
	}
	return dateToken{kind: tokenUnknown}
}

// lookupCalendarName finds a month or a weekday.
func lookupCalendarName(word string) (dateToken, bool) {
	if len(word) == 4 && word[3] == '.' {
		word = word[:3]
	}
	for i, name := range monthNames {
		if word == name || len(word) == 3 && word == name[:3] {
			return dateToken{tokenMonth, i + 1}, true
		}
	}
	for i, name := range weekdayNames {
		if word == name || len(word) == 3 && word == name[:3] {
			return dateToken{tokenWeekday, i}, true
		}
	}
	return dateToken{}, false
}

// militaryZone returns the zone of a letter in minutes west of UTC: A to M without J are 1 to 12
// hours west, N to Y are 1 to 12 hours east, and Z is UTC.
func militaryZone(letter byte) int {
	switch {
	case letter == 'z':
		return 0
	case letter >= 'n':
		return -60 * int(letter-'n'+1)
	case letter >= 'k':
		return 60 * int(letter-'a')
	}
	return 60 * int(letter-'a'+1)
}

const (
	secondsOfHour = 60 * 60
	secondsOfDay  = 24 * secondsOfHour
	hourWest      = 60 // minutes
)

// dateWords are the words of dates in free form, except months, weekdays and single letters.
var dateWords = map[string]dateToken{
	"sept": {tokenMonth, 9}, "tues": {tokenWeekday, 2}, "wednes": {tokenWeekday, 3}, "thur": {tokenWeekday, 4}, "thurs": {tokenWeekday, 4},

	"year": {tokenMonthUnit, 12}, "month": {tokenMonthUnit, 1},
	"fortnight": {tokenSecondUnit, 14 * secondsOfDay}, "week": {tokenSecondUnit, 7 * secondsOfDay}, "day": {tokenSecondUnit, secondsOfDay},
	"hour": {tokenSecondUnit, secondsOfHour}, "minute": {tokenSecondUnit, 60}, "min": {tokenSecondUnit, 60},
	"second": {tokenSecondUnit, 1}, "sec": {tokenSecondUnit, 1},

	"yesterday": {tokenDayWord, -secondsOfDay}, "today": {tokenDayWord, 0}, "tomorrow": {tokenDayWord, secondsOfDay},
	"now": {tokenSecondUnit, 0}, "this": {tokenSecondUnit, 0}, "ago": {tokenAgo, 0},

	"last": {tokenNumber, -1}, "next": {tokenNumber, 2}, "first": {tokenNumber, 1}, "third": {tokenNumber, 3}, "fourth": {tokenNumber, 4},
	"fifth": {tokenNumber, 5}, "sixth": {tokenNumber, 6}, "seventh": {tokenNumber, 7}, "eighth": {tokenNumber, 8}, "ninth": {tokenNumber, 9},
	"tenth": {tokenNumber, 10}, "eleventh": {tokenNumber, 11}, "twelfth": {tokenNumber, 12},

	"dst": {tokenDST, 0},
	"gmt": {tokenZone, 0}, "ut": {tokenZone, 0}, "utc": {tokenZone, 0}, "wet": {tokenZone, 0}, "bst": {tokenDayZone, 0},
	"wat": {tokenZone, 1 * hourWest}, "at": {tokenZone, 2 * hourWest},
	"ast": {tokenZone, 4 * hourWest}, "adt": {tokenDayZone, 4 * hourWest}, "est": {tokenZone, 5 * hourWest}, "edt": {tokenDayZone, 5 * hourWest},
	"cst": {tokenZone, 6 * hourWest}, "cdt": {tokenDayZone, 6 * hourWest}, "mst": {tokenZone, 7 * hourWest}, "mdt": {tokenDayZone, 7 * hourWest},
	"pst": {tokenZone, 8 * hourWest}, "pdt": {tokenDayZone, 8 * hourWest}, "yst": {tokenZone, 9 * hourWest}, "ydt": {tokenDayZone, 9 * hourWest},
	"hst": {tokenZone, 10 * hourWest}, "hdt": {tokenDayZone, 10 * hourWest}, "cat": {tokenZone, 10 * hourWest}, "ahst": {tokenZone, 10 * hourWest},
	"nt": {tokenZone, 11 * hourWest}, "idlw": {tokenZone, 12 * hourWest},
	"cet": {tokenZone, -1 * hourWest}, "met": {tokenZone, -1 * hourWest}, "mewt": {tokenZone, -1 * hourWest}, "mest": {tokenDayZone, -1 * hourWest},
	"swt": {tokenZone, -1 * hourWest}, "sst": {tokenDayZone, -1 * hourWest}, "fwt": {tokenZone, -1 * hourWest}, "fst": {tokenDayZone, -1 * hourWest},
	"eet": {tokenZone, -2 * hourWest}, "bt": {tokenZone, -3 * hourWest}, "wast": {tokenZone, -7 * hourWest}, "wadt": {tokenDayZone, -7 * hourWest},
	"cct": {tokenZone, -8 * hourWest}, "jst": {tokenZone, -9 * hourWest}, "east": {tokenZone, -10 * hourWest}, "eadt": {tokenDayZone, -10 * hourWest},
	"gst": {tokenZone, -10 * hourWest}, "nzt": {tokenZone, -12 * hourWest}, "nzst": {tokenZone, -12 * hourWest}, "nzdt": {tokenDayZone, -12 * hourWest},
	"idle": {tokenZone, -12 * hourWest},
}
