package exposition_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

// A parsed page is one that parsePage has checked against its format.
type parsed struct {
	families map[string]*parsedFamily
	samples  map[string]string // values by encoded name and labels
	lines    []string          // of samples, in order
}

type parsedFamily struct {
	name, typ, unit, help string
	meta                  []string // the words TYPE, UNIT and HELP, in order
	samples               []sample
}

type sample struct {
	name   string
	labels []parsedLabel
	value  float64
	text   string
	time   string
}

type parsedLabel struct{ name, value string }

func (s sample) label(name string) (string, bool) {
	for _, l := range s.labels {
		if l.name == name {
			return l.value, true
		}
	}
	return "", false
}

// key returns all labels but one.
func (s sample) key(but string) string {
	return fmt.Sprint(slices.DeleteFunc(slices.Clone(s.labels), func(l parsedLabel) bool { return l.name == but }))
}

// suffixes are the suffixes of samples in OpenMetrics, by the type of the family.
var suffixes = map[string][]string{
	"counter": {"_total", "_created"}, "gauge": {""}, "info": {"_info"},
	"histogram": {"_bucket", "_count", "_sum", "_created"}, "gaugehistogram": {"_bucket", "_gcount", "_gsum"},
}

// suffixes004 are the same in text 0.0.4.
var suffixes004 = map[string][]string{"counter": {""}, "gauge": {""}, "histogram": {"_bucket", "_count", "_sum"}}

var (
	plainName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	numberText = regexp.MustCompile(`^(-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?|NaN|[-+]Inf)$`)
	secondText = regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)
	milliText  = regexp.MustCompile(`^[0-9]+$`)
)

// parsePage parses a page and checks it against its format. If quoted is set, names may be in
// quotes.
func parsePage(text string, f exposition.Format, quoted bool) (*parsed, error) {
	p := &parsed{families: map[string]*parsedFamily{}, samples: map[string]string{}}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("not UTF-8")
	}
	if f == exposition.OpenMetrics {
		var ok bool
		if text, ok = strings.CutSuffix(text, "# EOF\n"); !ok {
			return nil, fmt.Errorf("no # EOF at the end")
		}
	}
	var family *parsedFamily
	for text != "" {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || line == "" {
			return nil, fmt.Errorf("%q is no line", line)
		}
		text = rest
		var err error
		if comment, is := strings.CutPrefix(line, "# "); is {
			family, err = p.meta(family, comment, f, quoted)
		} else {
			err = p.sample(family, line, f, quoted)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return p, p.check(f)
}

func (p *parsed) meta(family *parsedFamily, line string, f exposition.Format, quoted bool) (*parsedFamily, error) {
	word, rest, _ := strings.Cut(line, " ")
	if f == exposition.PCP && (word == "PCP5" || word == "PCP") {
		return family, nil
	}
	name, rest, err := takeName(rest, quoted)
	if err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(rest, " ")
	if !ok {
		return nil, fmt.Errorf("no blank after the name")
	}
	if family == nil || family.name != name {
		family = &parsedFamily{name: name}
		if p.families[name] != nil {
			return nil, fmt.Errorf("the family is there already")
		}
		p.families[name] = family
	}
	if len(family.samples) > 0 {
		return nil, fmt.Errorf("after samples")
	}
	family.meta = append(family.meta, word)
	switch word {
	case "TYPE":
		family.typ = rest
	case "UNIT":
		family.unit = rest
	case "HELP":
		escapes := `\n`
		if f == exposition.OpenMetrics {
			escapes = `\n"`
		}
		family.help, err = unescape(rest, escapes)
	default:
		err = fmt.Errorf("no such comment")
	}
	return family, err
}

// takeName parses a name, which may be in quotes.
func takeName(s string, quoted bool) (name, rest string, err error) {
	if quoted && strings.HasPrefix(s, `"`) {
		if name, rest, err = takeQuoted(s); err == nil && (name == "" || plainName.MatchString(name)) {
			err = fmt.Errorf("a name in quotes for nothing")
		}
		return name, rest, err
	}
	end := strings.IndexAny(s, "{ =")
	if end < 0 {
		end = len(s)
	}
	if !plainName.MatchString(s[:end]) {
		return "", "", fmt.Errorf("%q is no name", s[:end])
	}
	return s[:end], s[end:], nil
}

func takeQuoted(s string) (text, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", fmt.Errorf("no quote")
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			text, err = unescape(s[1:i], `\n"`)
			return text, s[i+1:], err
		}
	}
	return "", "", fmt.Errorf("no end of a text in quotes")
}

// unescape undoes the given escapes, such as "n" for a newline. Any other escape is an error.
func unescape(s, escapes string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			if s[i] == '"' && strings.Contains(escapes, `"`) {
				return "", fmt.Errorf("a quote without an escape")
			}
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) || !strings.Contains(escapes, string(s[i])) {
			return "", fmt.Errorf("an escape that there is not")
		}
		if s[i] == 'n' {
			b.WriteByte('\n')
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

func (p *parsed) sample(family *parsedFamily, line string, f exposition.Format, quoted bool) (err error) {
	if family == nil {
		return fmt.Errorf("no family")
	}
	var s sample
	rest := line
	if !strings.HasPrefix(line, "{") {
		if s.name, rest, err = takeName(rest, false); err != nil {
			return err
		}
	}
	if strings.HasPrefix(rest, "{") {
		if rest, err = s.takeLabels(rest[1:], quoted); err != nil {
			return err
		}
	}
	rest, ok := strings.CutPrefix(rest, " ")
	if !ok || s.name == "" {
		return fmt.Errorf("no name, or no blank")
	}
	series := strings.TrimSuffix(line, " "+rest)
	s.text, s.time, _ = strings.Cut(rest, " ")
	if !numberText.MatchString(s.text) {
		return fmt.Errorf("%q is no number", s.text)
	}
	if s.value, err = strconv.ParseFloat(s.text, 64); err != nil {
		return err
	}
	times := milliText
	if f == exposition.OpenMetrics {
		times = secondText
	}
	if len(s.text) < len(rest) && !times.MatchString(s.time) {
		return fmt.Errorf("%q is no time", s.time)
	}
	if _, known := p.samples[series]; known {
		return fmt.Errorf("the sample is there twice")
	}
	p.samples[series] = s.text
	p.lines = append(p.lines, line)
	family.samples = append(family.samples, s)
	return nil
}

// takeLabels parses labels up to the brace. The name of the sample may be among them.
func (s *sample) takeLabels(rest string, quoted bool) (_ string, err error) {
	for first := true; ; first = false {
		var name, value string
		if name, rest, err = takeName(rest, quoted); err != nil {
			return "", err
		}
		switch {
		case first && s.name == "" && !strings.HasPrefix(rest, "="):
			s.name = name
		case !strings.HasPrefix(rest, "="):
			return "", fmt.Errorf("label %s has no value", name)
		default:
			if value, rest, err = takeQuoted(rest[1:]); err != nil {
				return "", err
			}
			if n := len(s.labels); n > 0 && s.labels[n-1].name >= name {
				return "", fmt.Errorf("label %s is not in its place", name)
			}
			if value == "" || strings.HasPrefix(name, "__") {
				return "", fmt.Errorf("label %s=%q", name, value)
			}
			s.labels = append(s.labels, parsedLabel{name, value})
		}
		if after, end := strings.CutPrefix(rest, "}"); end {
			return after, nil
		}
		var more bool
		if rest, more = strings.CutPrefix(rest, ","); !more {
			return "", fmt.Errorf("no comma")
		}
	}
}

// check checks the rules that concern more than one line.
func (p *parsed) check(f exposition.Format) error {
	names := map[string]string{}
	for _, family := range p.families {
		types, order := suffixes, []string{"TYPE", "UNIT", "HELP"}
		if f != exposition.OpenMetrics {
			types, order = suffixes004, []string{"HELP", "TYPE"}
		}
		ends := types[family.typ]
		if ends == nil {
			return fmt.Errorf("%s has the type %q", family.name, family.typ)
		}
		slices.SortFunc(order, func(a, b string) int { return slices.Index(family.meta, a) - slices.Index(family.meta, b) })
		if n := len(order) - len(family.meta); n < 0 || !slices.Equal(order[n:], family.meta) {
			return fmt.Errorf("%s has %v", family.name, family.meta)
		}
		if f == exposition.OpenMetrics && (family.meta[0] != "TYPE" || slices.Index(family.meta, "UNIT") > 1) {
			return fmt.Errorf("%s has %v", family.name, family.meta)
		}
		if family.unit != "" && (!strings.HasSuffix(family.name, "_"+family.unit) || family.typ == "info") {
			return fmt.Errorf("%s, of type %s, has the unit %s", family.name, family.typ, family.unit)
		}
		for _, end := range append([]string{""}, ends...) {
			if other := names[family.name+end]; other != "" && other != family.name {
				return fmt.Errorf("%s%s is of %s, too", family.name, end, other)
			}
			names[family.name+end] = family.name
		}
		if err := family.check(f, ends); err != nil {
			return fmt.Errorf("%s: %w", family.name, err)
		}
	}
	return nil
}

func (family *parsedFamily) check(f exposition.Format, ends []string) error {
	if len(family.samples) == 0 {
		return fmt.Errorf("no samples")
	}
	for _, s := range family.samples {
		end, ok := strings.CutPrefix(s.name, family.name)
		if !ok || !slices.Contains(ends, end) {
			return fmt.Errorf("sample %s in a family of type %s", s.name, family.typ)
		}
		if _, has := s.label("le"); has != (end == "_bucket") && f != exposition.PCP && !(family.typ == "gauge" && f == exposition.Prometheus) {
			return fmt.Errorf("le is there: %v", has)
		}
		if family.typ == "counter" && (f != exposition.PCP && !(s.value >= 0)) {
			return fmt.Errorf("a counter is %s", s.text)
		}
		if family.typ == "info" && s.text != "1" {
			return fmt.Errorf("an info is %s", s.text)
		}
	}
	if !strings.HasSuffix(family.typ, "histogram") {
		return nil
	}
	for key, last := range family.lastBuckets() {
		if last == "" {
			return fmt.Errorf("buckets of %s are no histogram", key)
		}
		n := slices.IndexFunc(family.samples, func(s sample) bool { return strings.HasSuffix(s.name, "count") && s.key("") == key })
		if n < 0 || family.samples[n].text != last {
			return fmt.Errorf("the count of %s is not %s", key, last)
		}
	}
	return nil
}

// lastBuckets returns the values of the buckets +Inf by the other labels. A value is "" if the
// buckets fall, or if the bucket +Inf is missing.
func (family *parsedFamily) lastBuckets() map[string]string {
	last, bound, count := map[string]string{}, map[string]float64{}, map[string]float64{}
	for _, s := range family.samples {
		text, ok := s.label("le")
		if !ok {
			continue
		}
		key := s.key("le")
		le, err := strconv.ParseFloat(text, 64)
		before, known := bound[key]
		if err != nil || known && (le <= before || s.value < count[key]) || s.value != math.Trunc(s.value) {
			return map[string]string{key: ""}
		}
		bound[key], count[key], last[key] = le, s.value, ""
		if math.IsInf(le, 1) {
			last[key] = s.text
		}
	}
	return last
}

// TestParser: the parser of the other tests refuses invalid pages.
func TestParser(t *testing.T) {
	good := "# TYPE a counter\n# HELP a x \\\"y\\\"\na_total{b=\"1\\n\"} 1\na_total 2.5e-07 12.345\n# TYPE b_bytes gauge\n# UNIT b_bytes bytes\nb_bytes NaN\n" +
		"# TYPE i info\ni_info{value=\"x\"} 1\n# TYPE h histogram\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_count 3\nh_sum 3.5\n# EOF\n"
	if _, err := parsePage(good, exposition.OpenMetrics, false); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{
		{"# EOF\n", ""}, {"# EOF\n", "# EOF\n\n"}, {"TYPE a counter", "TYPE a gauge"}, {"a_total 2", "a_total -2"}, {"a_total 2", `a_total{b="1\n"} 2`},
		{"1\\n", "1\n"}, {`\"y`, `"y`}, {"bytes\nb", "seconds\nb"}, {"b_bytes NaN", "b_bytes nan"}, {"b_bytes NaN", "c NaN"}, {"i_info{value=\"x\"} 1", "i_info 2"},
		{"h_count 3", "h_count 4"}, {"h_count 3\n", ""}, {`{le="+Inf"} 3`, `{le="+Inf"} 1`}, {`le="1.0"`, `a="1.0"`}, {`{b="1\n"}`, `{b="1",a="2"}`},
		{"12.345", "12345"}, {"# HELP a", "# PCP5 a"}, {"TYPE i info", "TYPE a info"}, {"# TYPE i info", "# TYPE a_total gauge\na_total{x=\"y\"} 1\n# TYPE i info"},
		{`b="1\n"`, `b=""`}, {`b="1\n"`, `__b="1"`}, {`b="1\n"`, `b="1\t"`}, {"\n# TYPE b_bytes", " \n\n# TYPE b_bytes"},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if _, err := parsePage(bad, exposition.OpenMetrics, false); err == nil || bad == good {
			t.Errorf("with %q in place of %q it is a page", change[1], change[0])
		}
	}
}
