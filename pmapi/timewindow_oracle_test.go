package pmapi

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A windowQuestion is a question that the oracle and WindowSpec.Window answer.
type windowQuestion struct {
	zone        string
	first, last time.Time
	spec        WindowSpec
}

// text is the question for the oracle.
func (q windowQuestion) text() string {
	option := func(text string) string {
		if text == "" {
			return "."
		}
		return hex.EncodeToString([]byte(text))
	}
	last := "-1.999999999"
	if !q.last.IsZero() {
		last = fmt.Sprintf("%d.%d", q.last.Unix(), q.last.Nanosecond())
	}
	return fmt.Sprintf("%s %d %d.%d %s %s %s %s %s", hex.EncodeToString([]byte(q.zone)), q.spec.Now.Unix(), q.first.Unix(), q.first.Nanosecond(), last,
		option(q.spec.Start), option(q.spec.Finish), option(q.spec.Align), option(q.spec.Origin))
}

// windowZones are zones for questions, by their names for the C library.
var windowZones = []struct {
	name string
	loc  *time.Location
}{
	{"UTC", time.UTC},
	{"XST5", time.FixedZone("XST", -5*3600)},
	{"YST-9:30", time.FixedZone("YST", 9*3600+1800)},
	{"CET-1CEST,M3.5.0,M10.5.0/3", berlin()},
}

func berlin() *time.Location {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return nil
	}
	return loc
}

// windowTexts makes points of time at random.
type windowTexts struct{ r *rand.Rand }

func (w windowTexts) pick(s ...string) string { return s[w.r.IntN(len(s))] }

func (w windowTexts) number(most int) string { return strconv.Itoa(w.r.IntN(most)) }

func (w windowTexts) blank() string { return w.pick("", " ", " ", " ", "  ", "\t") }

func (w windowTexts) interval() string {
	return w.number(200) + w.pick("", ".5", ".25") + w.blank() + w.pick("", "s", "sec", "min", "mins", "hour", "m", "h", "day", "msec", "x")
}

func (w windowTexts) clock() string {
	s := w.pick(w.number(26), w.number(13), "") + w.pick("", " ") + ":" + w.pick(w.number(62), w.number(60), "0"+w.number(10), "", " 5")
	if w.r.IntN(2) == 0 {
		s += ":" + w.pick(w.number(63), w.number(60), "", "5.25", "6.125", "1e1", "0x10", "-1", " 7", "+3", "inf", ".5", "."+w.number(1000), w.number(60)+"."+w.number(100000))
	}
	return s + w.pick("", "", "am", "pm", " pm", " AM", "p", " amx", " pm1")
}

func (w windowTexts) year() string {
	return w.pick("2023", "2024", "2022", "1996", "2000", "1899", "1900", "69", "99", "05", "68")
}

func (w windowTexts) month() string {
	return w.pick("Jan", "feb", "MAR", "Apr", "may", "Jun", "jul", "Aug", "sep", "Oct", "nov", "Dec", "January", "March", "june", "sept", "Sep.", "foo")
}

func (w windowTexts) weekday() string {
	return w.pick("Mon", "tue", "WED", "Thu", "fri", "sat", "Sun", "monday", "tues", "wednes", "thurs", "Thursday", "sat.", "thurs.")
}

func (w windowTexts) ctime() string {
	var b strings.Builder
	for _, part := range []func() string{w.weekday, w.month, func() string { return w.number(34) },
		func() string { return w.pick(w.clock(), w.clock(), w.number(26), w.number(14)+"pm") }, w.year} {
		if w.r.IntN(2) == 0 {
			b.WriteString(part() + w.blank())
		}
	}
	return b.String()
}

func (w windowTexts) unit() string {
	return w.pick("year", "month", "fortnight", "week", "day", "hour", "minute", "min", "second", "sec") + w.pick("", "s", "", "s", "ss")
}

func (w windowTexts) relative() string {
	n := w.pick(w.number(40), w.number(10), "-"+w.number(10), "+"+w.number(10), "last", "next", "this", "first", "third", "twelfth", "a", "", "1 2", "- "+w.number(9))
	return n + w.blank() + w.pick(w.unit(), w.unit(), w.unit(), "tomorrow", "yesterday", "today", "now") + w.pick("", "", " ago", "ago", " Ago")
}

func (w windowTexts) zone() string {
	var words []string
	for _, word := range slices.Sorted(maps.Keys(dateWords)) {
		if kind := dateWords[word].kind; kind == tokenZone || kind == tokenDayZone {
			words = append(words, word)
		}
	}
	return w.pick(w.pick(words...), "EST", "z", "gmt", "e.s.t.", "T", "j", "k", "y", "utc dst", "+0100", "-0530", "+5", "edt dst", "foo")
}

func (w windowTexts) date() string {
	m, d := w.number(14), w.number(33)
	return w.pick(w.year()+"-"+m+"-"+d, m+"/"+d, m+"/"+d+"/"+w.year(), w.month()+" "+d, w.month()+" "+d+", "+w.year(), d+" "+w.month(), d+" "+w.month()+" "+w.year(),
		d+"-"+w.month()+"-"+w.year(), w.year()+"0"+w.number(10)+"1"+w.number(10), "2023/1/1", "(x) "+m+"/"+d)
}

func (w windowTexts) free() string {
	var b strings.Builder
	for range 1 + w.r.IntN(4) {
		switch w.r.IntN(9) {
		case 0, 1:
			b.WriteString(w.date())
		case 2, 3:
			b.WriteString(w.clock())
		case 4:
			b.WriteString(w.pick("", "", "2 ", "last ", "next ", "third ", "-1 ") + w.weekday() + w.pick("", ","))
		case 5, 6:
			b.WriteString(w.relative())
		case 7:
			b.WriteString(w.zone())
		case 8:
			b.WriteString(w.pick(w.number(25), w.number(2100), "2060", "(x)", "( day)", "-", "/", ",", ":", "(", ")", "ago", "10 a.m.", "5 P.M."))
		}
		b.WriteString(w.blank())
	}
	return b.String()
}

var longNumber = regexp.MustCompile(`\d{5}`)

// point makes a point of time, without the forms that this package treats differently from C on
// purpose.
func (w windowTexts) point() string {
	for {
		text := w.anyPoint()
		months, zones, long := false, false, longNumber.MatchString(text)
		for _, t := range scanFreeDate(text) {
			months = months || t.kind == tokenMonthUnit
			zones = zones || t.kind == tokenZone || t.kind == tokenDayZone || t.kind == tokenSigned
		}
		if (!months || !zones) && !long {
			return text
		}
	}
}

func (w windowTexts) anyPoint() string {
	switch w.r.IntN(8) {
	case 0:
		return w.pick("", " ", "+", "+ ") + w.interval()
	case 1:
		return w.pick("-", "- ", " -", "--", "+-") + w.interval()
	case 2:
		return w.pick("-0", "@", "-", "+", " ", "@ ", "@-5", "@+5", "foo", "0")
	case 3, 4:
		return "@" + w.pick("", " ") + w.ctime()
	case 5:
		return w.pick("", "+", "-") + w.free()
	}
	return "@" + w.pick("", " ") + w.free()
}

func (w windowTexts) question() windowQuestion {
	zone := windowZones[w.r.IntN(len(windowZones))]
	if zone.loc == nil {
		zone = windowZones[0]
	}
	moment := func() time.Time { return time.Unix(1650000000+w.r.Int64N(100_000_000), w.r.Int64N(4)*250_000_000) }
	q := windowQuestion{zone: zone.name, first: moment(), spec: WindowSpec{Location: zone.loc, Now: moment().Truncate(time.Second)}}
	q.last = q.first.Add(time.Duration(w.r.Int64N(int64(100 * 24 * time.Hour))))
	switch w.r.IntN(6) {
	case 0:
		q.last = time.Time{}
	case 1:
		q.last = q.first.Add(time.Duration(w.r.Int64N(int64(4 * time.Hour))))
	}
	if w.r.IntN(2) > 0 {
		q.spec.Start = w.point()
	}
	if w.r.IntN(200) == 0 {
		q.spec.Start = w.pick("@20231114", "@231114 10:00", "@240230", "@680101", "@10:00 20240229", "@20231114 1030", "@10:00 20231114 99")
	}
	if w.r.IntN(2) > 0 {
		q.spec.Finish = w.point()
	}
	if w.r.IntN(3) == 0 {
		q.spec.Origin = w.point()
	}
	if w.r.IntN(3) == 0 && (q.spec.Origin == "" || !q.last.IsZero()) { // C aligns the origin of a live source downwards
		q.spec.Align = w.pick("0", "1", "0.5", "2hour", "1day", "foo", "1.7", "-1", " ", "3 week", w.interval())
	}
	return q
}

// answerWindow is the answer of WindowSpec.Window in the form of the oracle's.
func answerWindow(q windowQuestion) string {
	w, err := q.spec.Window(q.first, q.last)
	status, message := "1", ""
	switch {
	case errors.Is(err, ErrAlignment) && w != Window{}:
		status, message = "0", CaretText(err)
	case err != nil:
		return "-1 " + CaretText(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", status, stampOf(w.Start), stampOf(w.End), stampOf(w.Origin), message))
}

// noEnd is the end of a live source, in seconds.
const noEnd = "9223372036854775807"

func stampOf(t time.Time) string {
	if t.IsZero() {
		return noEnd
	}
	return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond())
}

// oracleWindow is an answer of the oracle in the same form.
func oracleWindow(t testing.TB, answer string) string {
	f := strings.Fields(answer)
	message := ""
	if len(f) == 5 {
		text, err := hex.DecodeString(f[4])
		if err != nil {
			t.Fatal(err)
		}
		message = strings.Replace(strings.TrimSuffix(string(text), "\n"), "alignment specified by -A switch could not be applied", ErrAlignment.Error(), 1)
	}
	if f[0] == "-1" {
		return "-1 " + message
	}
	for i := range f[1:4] {
		sec, nsec, _ := strings.Cut(f[1+i], ".")
		switch {
		case sec == noEnd:
			f[1+i] = noEnd
		case nsec == "1000000000":
			n, _ := strconv.Atoi(sec)
			f[1+i] = strconv.Itoa(n+1) + ".000000000"
		}
	}
	return strings.TrimSpace(strings.Join(f[:4], " ") + " " + message)
}

// clean reports whether C's answer to a question ought to equal ours. It need not if nanoseconds
// add up to a whole second, if months are added to a day that the month does not have, if "today"
// is a day of 23 or 25 hours, or if a time is aligned that 64 bits of nanoseconds cannot count.
func (q windowQuestion) clean(answer string) bool {
	if strings.Contains(answer, ".1000000000") {
		return false
	}
	if unaligned := q.spec; q.spec.Align != "" {
		unaligned.Align = ""
		w, err := unaligned.Window(q.first, q.last)
		if year := w.Start.UTC().Year(); err == nil && (year < 1678 || year > 2261) {
			return false
		}
	}
	now := q.spec.Now.In(q.spec.Location)
	y, m, d := now.Date()
	if time.Date(y, m, d+1, 0, 0, 0, 0, q.spec.Location).Sub(time.Date(y, m, d, 0, 0, 0, 0, q.spec.Location)) != 24*time.Hour {
		return false
	}
	months := false
	for _, text := range []string{q.spec.Start, q.spec.Finish, q.spec.Origin} {
		for _, t := range scanFreeDate(text) {
			months = months || t.kind == tokenMonthUnit
		}
	}
	return !months || max(now.Day(), q.first.In(q.spec.Location).Day(), q.last.In(q.spec.Location).Day()) <= 28
}

// sameWindow compares an answer with the oracle's. C has warnings without a text.
func sameWindow(q windowQuestion, got, want string) bool {
	if strings.HasPrefix(want, "0 ") && !strings.Contains(want, "^") {
		got, _, _ = strings.Cut(got, " "+q.spec.Align+"\n")
	}
	return got == want
}

func (q windowQuestion) String() string {
	return fmt.Sprintf("-S %q -T %q -A %q -O %q in %s from %v to %v, now %v", q.spec.Start, q.spec.Finish, q.spec.Align, q.spec.Origin, q.zone,
		q.first.In(q.spec.Location), q.last.In(q.spec.Location), q.spec.Now.In(q.spec.Location))
}

var updateWindows = flag.Bool("update-windows", false, "record questions and C's answers in testdata/windows.txt")

// TestInteropWindow compares windows with those of pmParseHighResTimeWindow(3).
func TestInteropWindow(t *testing.T) {
	r, n := pcptest.Inputs(t, 30_000)
	w := windowTexts{r}
	var questions []windowQuestion
	var texts []string
	for range n {
		q := w.question()
		questions = append(questions, q)
		texts = append(texts, q.text())
	}
	wrong, unclean := 0, 0
	var record strings.Builder
	for i, answer := range pcptest.Oracle(t, "window", texts) {
		q := questions[i]
		if !q.clean(answer) {
			unclean++
			continue
		}
		if i < 400 {
			fmt.Fprintf(&record, "%s = %s\n", texts[i], answer)
		}
		if got, want := answerWindow(q), oracleWindow(t, answer); !sameWindow(q, got, want) {
			if wrong++; wrong <= 10 {
				t.Errorf("%v:\ngot  %s\nC has %s", q, got, want)
			}
		}
	}
	t.Logf("window: %d questions, %d where C is wrong, %d other answers differ", len(questions), unclean, wrong)
	if unclean > len(questions)/10 {
		t.Errorf("C is said to be wrong for %d of %d questions", unclean, len(questions))
	}
	if *updateWindows {
		if err := os.WriteFile(recordedWindows, []byte(record.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const recordedWindows = "testdata/windows.txt"

// TestRecordedWindow compares windows with answers of pmParseHighResTimeWindow(3) that
// TestInteropWindow has recorded.
func TestRecordedWindow(t *testing.T) {
	text, err := os.ReadFile(recordedWindows)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		question, answer, _ := strings.Cut(strings.TrimSpace(line), " = ")
		q := parseWindowQuestion(t, question)
		if got, want := answerWindow(q), oracleWindow(t, answer); !sameWindow(q, got, want) {
			t.Errorf("%v:\ngot  %s\nC has %s", q, got, want)
		}
		n++
	}
	if n < 350 {
		t.Errorf("%s has %d windows", recordedWindows, n)
	}
}

// parseWindowQuestion is the inverse of windowQuestion.text.
func parseWindowQuestion(t testing.TB, text string) windowQuestion {
	f := strings.Fields(text)
	unhex := func(s string) string {
		b, err := hex.DecodeString(strings.TrimPrefix(s, "."))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return string(b)
	}
	moment := func(s string) time.Time {
		sec, nsec, _ := strings.Cut(s, ".")
		n, err := strconv.ParseInt(sec, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		ns, _ := strconv.Atoi(nsec)
		return time.Unix(n, int64(ns))
	}
	q := windowQuestion{zone: unhex(f[0]), first: moment(f[2]), spec: WindowSpec{Now: moment(f[1]), Start: unhex(f[4]), Finish: unhex(f[5]),
		Align: unhex(f[6]), Origin: unhex(f[7])}}
	if !strings.HasPrefix(f[3], "-") {
		q.last = moment(f[3])
	}
	for _, zone := range windowZones {
		if zone.name == q.zone {
			q.spec.Location = zone.loc
		}
	}
	if q.spec.Location == nil {
		t.Skip("no zone Europe/Berlin here")
	}
	return q
}
