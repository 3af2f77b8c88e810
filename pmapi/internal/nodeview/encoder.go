package nodeview

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

// An encoder writes pages of one style.
type encoder struct {
	style exposition.Style

	generation uint64
	groups     []group
	metrics    []*export.Metric
	sets       []pdu.ValueSet // values of metrics in this page
	time       []byte         // text before the value of node_time_seconds
	success    []byte         // text before the samples of node_scrape_collector_success
}

// A group holds the families of a collector that the source has.
type group struct {
	families []prepared
	line     []byte // of node_scrape_collector_success, without the value
	found    bool   // this page has samples of the group
}

// A prepared is a family with the text before its samples.
type prepared struct {
	header  []byte
	columns []column
}

// A column is a source whose metric exists.
type column struct {
	*source
	name   string // name of the samples
	metric int    // index of the metric
	joined []joined
	times  int // index of a metric, or -1
	conv   conversion
	lines  []line // in the order of the values
}

// A joined is a join with the index of its metric, or -1.
type joined struct {
	*join
	metric int
}

// A line is the text before the value of a sample. It is made again when the instance or the value
// of a label changes.
type line struct {
	inst *export.Instance
	made bool
	with []string // values of joins in PCP
	text []byte   // nil if the sample is omitted
}

// append appends a page.
func (e *encoder) append(b []byte, s *export.Snapshot) []byte {
	if e.generation != s.Generation {
		e.prepare(s)
	}
	e.sets = e.sets[:0]
	for _, set := range s.All() {
		e.sets = append(e.sets, set)
	}
	for i := range e.groups {
		g := &e.groups[i]
		start := len(b)
		for j := range g.families {
			b = e.appendFamily(b, &g.families[j])
		}
		g.found = len(b) > start
	}
	b = append(b, e.time...)
	b = append(appendNumber(b, float64(s.Time.UnixMicro())/1e6), '\n')
	b = append(b, e.success...)
	for i := range e.groups {
		b = append(b, e.groups[i].line...)
		digit := byte('0')
		if e.groups[i].found {
			digit = '1'
		}
		b = append(b, digit, '\n')
	}
	if e.style.Format == exposition.OpenMetrics {
		b = append(b, "# EOF\n"...)
	}
	return b
}

// prepare finds the metrics of the table in a new generation.
func (e *encoder) prepare(s *export.Snapshot) {
	e.metrics, e.groups, e.generation = e.metrics[:0], nil, s.Generation
	index := map[string]int{}
	for m := range s.All() {
		index[m.Name] = len(e.metrics)
		e.metrics = append(e.metrics, m)
	}
	find := func(name string) int {
		if i, ok := index[name]; ok {
			return i
		}
		return -1
	}
	for _, c := range collectors {
		g := group{line: e.prefix("node_scrape_collector_success", []label{{"collector", c.name}})}
		for _, f := range c.families {
			if p := e.family(&f, find); len(p.columns) > 0 {
				g.families = append(g.families, p)
			}
		}
		e.groups = append(e.groups, g)
	}
	e.time = append(e.header("node_time_seconds", "The time of the values, in seconds since 1970", gauge), e.prefix("node_time_seconds", nil)...)
	e.success = e.header("node_scrape_collector_success", "1 if there is some metric of a collector", gauge)
}

// family prepares the sources of a family whose metrics exist.
func (e *encoder) family(f *family, find func(name string) int) prepared {
	p := prepared{header: e.header(f.name, f.help, f.kind)}
	for i := range f.sources {
		s := &f.sources[i]
		c := column{source: s, name: f.name, metric: find(s.metric), times: find(s.times)}
		if c.metric < 0 || s.times != "" && c.times < 0 {
			continue
		}
		var ok bool
		m := e.metrics[c.metric]
		if c.conv, ok = conversionOf(f.name, m.Desc.Units, s.mul); !ok || (s.by != nil || s.only != 0) != (m.InDom != nil) {
			continue // the metric is not the one that the table means
		}
		for k := range s.joins {
			c.joined = append(c.joined, joined{&s.joins[k], find(s.joins[k].metric)})
		}
		p.columns = append(p.columns, c)
	}
	return p
}

// appendFamily appends a family, if it has samples.
func (e *encoder) appendFamily(b []byte, p *prepared) []byte {
	start := len(b)
	b = append(b, p.header...)
	first := len(b)
	for i := range p.columns {
		b = e.appendColumn(b, &p.columns[i])
	}
	if len(b) == first {
		return b[:start]
	}
	return b
}

func (e *encoder) appendColumn(b []byte, c *column) []byte {
	set, m := e.sets[c.metric], e.metrics[c.metric]
	n := set.Len()
	if set.Err() != nil || n == 0 {
		return b
	}
	factor := 1.0
	if c.times >= 0 {
		var ok bool
		if factor, ok = e.single(c.times); !ok {
			return b
		}
	}
	for len(c.lines) < n {
		c.lines = append(c.lines, line{})
	}
	clear(c.lines[n:]) // former instances
	c.lines = c.lines[:n]
	for i := range n {
		id := set.Inst(i)
		if c.only != 0 && int(id) != c.only {
			continue
		}
		v, ok := numberOf(set.Atom(i, m.Desc.Type))
		if ok {
			v = c.conv.apply(v) * factor
		}
		if ok && c.value != nil {
			v, ok = c.value(v)
		}
		if !ok {
			continue
		}
		l := &c.lines[i]
		if inst := m.InDom.Instance(id); !l.made || l.inst != inst || e.changed(c, l, i, inst) {
			e.remake(c, l, i, inst)
		}
		if l.text != nil {
			b = append(append(b, l.text...), ' ')
			b = append(appendNumber(b, v), '\n')
		}
	}
	return b
}

// single returns the value of a singular metric.
func (e *encoder) single(metric int) (float64, bool) {
	set := e.sets[metric]
	if set.Err() != nil || set.Len() != 1 {
		return 0, false
	}
	return numberOf(set.Atom(0, e.metrics[metric].Desc.Type))
}

// changed reports whether the value of a join has changed.
func (e *encoder) changed(c *column, l *line, place int, inst *export.Instance) bool {
	for i, j := range c.joined {
		text, number, ok := e.joinedValue(j, c.metric, place, inst)
		switch {
		case text != nil && string(text) == l.with[i], !ok && l.with[i] == "":
		case ok && text == nil && l.with[i] == strconv.FormatFloat(number, 'g', -1, 64):
		default:
			return true
		}
	}
	return false
}

// joinedValue returns the value of a join for an instance of a metric, as a text or else as a
// number. It tries the index place first, where the value usually is.
func (e *encoder) joinedValue(j joined, metric, place int, inst *export.Instance) (text []byte, number float64, ok bool) {
	if j.metric < 0 || e.sets[j.metric].Err() != nil {
		return nil, 0, false
	}
	set, m := e.sets[j.metric], e.metrics[j.metric]
	switch {
	case m.InDom == nil:
		place = 0
	case inst == nil:
		return nil, 0, false
	case m.InDom == e.metrics[metric].InDom:
		if place >= set.Len() || set.Inst(place) != inst.ID {
			place = e.find(set, func(id pdu.InstID) bool { return id == inst.ID })
		}
	default:
		if place >= set.Len() || m.InDom.Name(set.Inst(place)) != inst.Name {
			place = e.find(set, func(id pdu.InstID) bool { return m.InDom.Name(id) == inst.Name })
		}
	}
	if place < 0 || place >= set.Len() {
		return nil, 0, false
	}
	a := set.Atom(place, m.Desc.Type)
	if a.Type == pdu.TypeString {
		text = a.Bytes()
		if end := slices.Index(text, 0); end >= 0 {
			text = text[:end]
		}
		return text, 0, len(text) > 0
	}
	number, ok = numberOf(a)
	return nil, number, ok
}

func (e *encoder) find(set pdu.ValueSet, is func(pdu.InstID) bool) int {
	for i := range set.Len() {
		if is(set.Inst(i)) {
			return i
		}
	}
	return -1
}

// remake makes the text of a line.
func (e *encoder) remake(c *column, l *line, place int, inst *export.Instance) {
	*l = line{inst: inst, made: true}
	shown, labels := true, slices.Clone(c.labels)
	if c.by != nil {
		own, ok := c.by(inst.Name)
		labels, shown = append(labels, own), ok
	}
	for _, j := range c.joined {
		text, number, ok := e.joinedValue(j, c.metric, place, inst)
		value := string(text)
		if ok && text == nil {
			value = strconv.FormatFloat(number, 'g', -1, 64)
		}
		l.with = append(l.with, value)
		if ok && j.text != nil {
			if value, ok = j.text(value); !ok {
				shown = false
			}
		}
		shown = shown && (ok || !j.required)
		labels = append(labels, label{j.label, value})
	}
	if shown {
		l.text = e.prefix(c.name, labels)
		l.text = l.text[:len(l.text)-1]
	}
}

// header returns the lines before the samples of a family.
func (e *encoder) header(name, help string, k kind) []byte {
	word := [...]string{gauge: "gauge", counter: "counter", untyped: "untyped"}[k]
	if e.style.Format == exposition.OpenMetrics {
		if k == untyped {
			word = "unknown"
		} else if k == counter {
			name = strings.TrimSuffix(name, "_total")
		}
	}
	name = e.escaped(name)
	return []byte("# HELP " + name + " " + help + "\n# TYPE " + name + " " + word + "\n")
}

// prefix returns the text before a value, including a space.
func (e *encoder) prefix(name string, labels []label) []byte {
	labels = slices.DeleteFunc(slices.Clone(labels), func(l label) bool { return l.name == "" || l.value == "" })
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	b := []byte(e.escaped(name))
	for i, l := range labels {
		b = append(b, "{,"[min(i, 1)])
		b = append(append(b, e.escaped(l.name)...), `="`...)
		b = append(append(b, valueEscapes.Replace(strings.ToValidUTF8(l.value, "\uFFFD"))...), '"')
	}
	if len(labels) > 0 {
		b = append(b, '}')
	}
	return append(b, ' ')
}

var valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// escaped returns a name in the page's style. All names here are plain, so that only Dots changes
// them.
func (e *encoder) escaped(name string) string {
	if e.style.Escaping == exposition.Dots {
		return strings.ReplaceAll(name, "_", "__")
	}
	return name
}

// appendNumber appends a value. Integers have no exponent, because parsers read them fastest.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return strconv.AppendInt(b, int64(v), 10)
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
