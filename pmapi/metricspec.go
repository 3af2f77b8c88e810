package pmapi

import (
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// A SourceKind is a kind of source of metrics.
type SourceKind int

// The kinds of sources, with the numbers of pmParseMetricSpec(3).
const (
	SourceHost    SourceKind = iota // a collector
	SourceArchive                   // an archive
	SourceLocal                     // agents loaded into the process
)

// A MetricSpec names a metric, its source and some of its instances, as an operand of
// PCP's tools does.
type MetricSpec struct {
	Kind   SourceKind
	Source string // a host specification, an archive, or "@" for SourceLocal; a default may be empty
	Metric string
	// Instances are the names of the selected instances. Empty means all.
	Instances []string
}

// ParseMetricSpec parses
//
//	[source] metric [ '[' [instance [[','] instance]…] ']' ]
//
// where source is "host:", "archive/", or "@:" for a local context. The
// arguments kind and source are the default, for a text without a source. The
// source ends at the last ':' or '/' before the first '['. So it cannot be an
// address in brackets, and "pcp://host/m" is a metric of an archive.
//
//	kernel.all.load               all instances
//	kernel.all.load[1,5]          instances "1" and "5"; a blank may replace the comma
//	kernel.all.load["1 minute"]   instance "1 minute"
//	web1:44321:kernel.all.load    of the collector on web1
//
// A backslash makes the next character part of the name. Blanks around the parts
// are ignored.
//
// The error is a *SpecError. The counterpart of pmParseMetricSpec(3).
func ParseMetricSpec(text string, kind SourceKind, source string) (MetricSpec, error) {
	p := metricSpecParser{text: text}
	s, err := p.parse(MetricSpec{Kind: kind, Source: source})
	if err != nil {
		return MetricSpec{}, err
	}
	return s, nil
}

type metricSpecParser struct {
	text string
	pos  int
}

func (p *metricSpecParser) fail(msg string) error {
	return &SpecError{What: "metric specification", Text: p.text, Offset: p.pos, Msg: msg}
}

// at is the character at the position, 0 at the end.
func (p *metricSpecParser) at() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *metricSpecParser) blanks() {
	for p.pos < len(p.text) && scan.IsSpace(p.text[p.pos]) {
		p.pos++
	}
}

// step moves past one character, or two if the first is a backslash.
func (p *metricSpecParser) step() {
	if p.text[p.pos] == '\\' && p.pos+1 < len(p.text) {
		p.pos++
	}
	p.pos++
}

func (p *metricSpecParser) parse(s MetricSpec) (MetricSpec, error) {
	if err := p.source(&s); err != nil {
		return s, err
	}
	if err := p.metric(&s); err != nil {
		return s, err
	}
	p.blanks()
	if p.at() != '[' {
		return s, p.end()
	}
	return s, p.instances(&s)
}

// end is an error unless only blanks are left.
func (p *metricSpecParser) end() error {
	p.blanks()
	if p.pos < len(p.text) {
		return p.fail("unexpected extra characters")
	}
	return nil
}

func (p *metricSpecParser) source(s *MetricSpec) error {
	p.blanks()
	head := p.text
	if i := strings.IndexByte(head, '['); i >= 0 {
		head = head[:i]
	}
	end := strings.LastIndexAny(head, ":/")
	if end < 0 {
		return nil
	}
	archive := head[end] == '/'
	name := head[p.pos:end]
	for len(name) > 0 && scan.IsSpace(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	switch {
	case name == "" && archive:
		return p.fail("archive name expected")
	case name == "":
		return p.fail("host name expected")
	case archive:
		s.Kind = SourceArchive
	case name == "@":
		s.Kind = SourceLocal
	default:
		s.Kind = SourceHost
	}
	s.Source = scan.Unescape(name)
	p.pos = end + 1
	return nil
}

func (p *metricSpecParser) metric(s *MetricSpec) error {
	p.blanks()
	start := p.pos
	for p.pos < len(p.text) && !scan.IsSpace(p.text[p.pos]) && strings.IndexByte(",[]", p.text[p.pos]) < 0 {
		p.step()
	}
	switch c := p.at(); {
	case c == ',' || c == ']':
		return p.fail("unexpected character in metric name")
	case p.pos == start:
		return p.fail("performance metric name expected")
	}
	s.Metric = scan.Unescape(p.text[start:p.pos])
	return nil
}

// instances parses the list in brackets. As in the C library, it first finds the end of the list
// and then the names in it, with different rules for quotes: within a name that does not begin with
// a quote, quotes are ordinary characters.
func (p *metricSpecParser) instances(s *MetricSpec) error {
	p.pos++
	list := *p
	quoted := false
	for p.pos < len(p.text) && (quoted || p.text[p.pos] != ']') {
		if p.text[p.pos] == '"' {
			quoted = !quoted
		}
		p.step()
	}
	switch {
	case p.pos < len(p.text):
	case quoted:
		return p.fail(`closing " and ] expected`)
	default:
		return p.fail("closing ] expected")
	}
	list.text = p.text[:p.pos]
	p.pos++
	if err := p.end(); err != nil {
		return err
	}
	list.blanks()
	for list.pos < len(list.text) {
		name, ok := list.instance()
		if !ok {
			return (&metricSpecParser{p.text, list.pos}).fail(`closing " expected`)
		}
		s.Instances = append(s.Instances, name)
		for list.pos < len(list.text) && (scan.IsSpace(list.text[list.pos]) || list.text[list.pos] == ',') {
			list.pos++
		}
	}
	return nil
}

// instance parses a name. ok is false if it begins with a quote and does not end with
// one.
func (p *metricSpecParser) instance() (name string, ok bool) {
	if p.at() == '"' {
		p.pos++
		start := p.pos
		for p.pos < len(p.text) && p.text[p.pos] != '"' {
			p.step()
		}
		if p.pos == len(p.text) {
			return "", false
		}
		p.pos++
		return scan.Unescape(p.text[start : p.pos-1]), true
	}
	start := p.pos
	for p.pos < len(p.text) && !scan.IsSpace(p.text[p.pos]) && p.text[p.pos] != ',' {
		p.step()
	}
	return scan.Unescape(p.text[start:p.pos]), true
}
