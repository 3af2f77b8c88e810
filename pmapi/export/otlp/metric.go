package otlp

import (
	"bytes"
	"math"
	"slices"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// A kind is how a metric is sent.
type kind byte

const (
	gauge kind = iota + 1
	sum
	text // a gauge with the string in an attribute
)

// kindOf returns the kind of a metric, or 0 for a metric that is left out.
func (e *encoder) kindOf(m *export.Metric) kind {
	switch m.Desc.Type {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble:
		if m.Desc.Sem == pdu.SemCounter {
			return sum
		}
		return gauge
	case pdu.TypeString:
		if e.Strings && m.Desc.Sem == pdu.SemDiscrete {
			return text
		}
	}
	return 0
}

// A metric is an encoded metric with its series.
type metric struct {
	source    *export.Metric
	kind      kind
	described uint64 // generation of the last description

	head   []byte // encoded fields name, description and unit
	data   field  // the field of its points
	conv   base.Conversion
	number difference.Kind
	double bool // values are written as doubles, because some were not int64

	points map[pdu.InstID]*point
	live   int // number of points that have not ended

	histograms histograms

	isTotal  bool    // it is the sum of a histogram
	hasTotal bool    // total is set in this round
	total    float64 // its value in base units
}

// A point is a series of numbers.
type point struct {
	attributes []byte // encoded attributes
	named      uint64 // generation of attributes, inst and text
	inst       *export.Instance
	text       string
	start      int64 // start time; 0 unless it is a sum
	at         int64 // time of its last value
	last       difference.Sample
	seen       uint64 // round of its last value
	ended      bool
}

func newMetric(m *export.Metric, k kind, name string, json bool) *metric {
	unit, conv := unitOf(m.Desc)
	if k == text {
		unit, conv = "", base.Same
	}
	data := gaugeField
	if k == sum {
		data = sumField
	}
	double := m.Desc.Type == pdu.TypeFloat || m.Desc.Type == pdu.TypeDouble || conv.Div != 1 || conv.Sub != 0
	return &metric{source: m, kind: k, head: describe(m, name, unit, json), data: data, conv: conv,
		number: difference.KindOf(m.Desc.Type, true, false), double: double,
		histograms: newHistograms(m, k, name, json), points: map[pdu.InstID]*point{}}
}

// describe encodes the fields of a metric before its data.
func describe(m *export.Metric, name, unit string, json bool) []byte {
	w := builder{json: json}
	w.text(nameField, name)
	if m.Line != "" {
		w.text(descriptionField, m.Line)
	}
	if unit != "" {
		w.text(unitField, unit)
	}
	return w.b
}

// setTotal sets the total of a metric that is the sum of a histogram.
func (m *metric) setTotal(values pdu.ValueSet) {
	m.hasTotal = false
	if values.Len() == 1 {
		var n base.Number
		n, m.hasTotal = base.NumberOf(values.Atom(0, m.source.Desc.Type))
		m.total = m.conv.Apply(n).Float
	}
}

// widen sets double if a value is not an int64.
func (m *metric) widen(values pdu.ValueSet) {
	if m.double || m.kind == text || m.source.Desc.Type != pdu.TypeU64 && m.conv.Mul == 1 {
		return
	}
	for i := range values.Len() {
		n, ok := base.NumberOf(values.Atom(i, m.source.Desc.Type))
		if _, fits := m.conv.Apply(n).Int64(); ok && !fits {
			m.double = true
			return
		}
	}
}

// appendPoints writes the values of a metric, and ends series without a value.
func (e *encoder) appendPoints(m *metric, values pdu.ValueSet) {
	m.widen(values)
	seen := 0
	for i := range values.Len() {
		a := values.Atom(i, m.source.Desc.Type)
		n, ok := base.NumberOf(a)
		if m.kind == text {
			n, ok = base.Number{Integer: 1, Float: 1, IsInt: true}, a.Type == pdu.TypeString
		}
		if !ok || m.kind == sum && math.IsNaN(n.Float) {
			continue
		}
		p := m.points[values.Inst(i)]
		if p != nil && p.seen == e.round {
			continue // the source has the instance twice
		}
		if p == nil {
			p = &point{ended: true}
			m.points[values.Inst(i)] = p
		}
		e.name(m, p, values.Inst(i), a)
		p.seen = e.round
		seen++
		e.appendValue(m, p, a, m.conv.Apply(n))
	}
	if seen < m.live || seen < len(m.points) {
		e.appendMissing(m, values.Err() != nil)
		return
	}
	m.live = seen
}

// name updates the attributes of a point whose instance or text has changed. If they differ, it
// ends the old series.
func (e *encoder) name(m *metric, p *point, id pdu.InstID, a pdu.Atom) {
	inst := m.source.InDom.Instance(id)
	s := ""
	if m.kind == text {
		s, _ = pdu.As[string](a)
	}
	if p.named == m.described && p.inst == inst && p.text == s {
		return
	}
	attributes := e.attributesOf(m.source.Labels, inst, m.kind == text, s)
	if !bytes.Equal(attributes, p.attributes) {
		if p.attributes != nil && !p.ended {
			e.appendEnd(p)
		}
		*p = point{attributes: attributes, ended: true}
	}
	p.named, p.inst, p.text = m.described, inst, s
}

// appendValue writes a point with value n, which is a converted. The series of a counter starts
// when it is first seen, and again after a reset.
func (e *encoder) appendValue(m *metric, p *point, a pdu.Atom, n base.Number) {
	if m.kind == sum {
		last := p.last
		p.last, _ = m.number.Sample(a) // a is a number, because n is
		if p.start == 0 {
			p.start = e.now
		} else if _, code := m.number.Increase(last, p.last); code == pdu.ErrValue {
			p.start = restart(p.start, p.at)
		}
	}
	p.at, p.ended = e.now, false
	e.beginPoint(p.attributes, p.start)
	if v, ok := n.Int64(); ok && !m.double {
		e.out.fixed64(asIntField, v)
	} else {
		e.out.double(asDoubleField, n.Float)
	}
	e.out.close()
}

// restart returns the start time after a reset: the time of the last value, but always later than
// the former start time.
func restart(start, last int64) int64 { return max(last, start+1) }

// appendMissing ends series without a value. After a failure it keeps their state, because a
// counter may continue.
func (e *encoder) appendMissing(m *metric, failed bool) {
	m.live = 0
	for id, p := range m.points {
		if p.seen == e.round {
			m.live++
			continue
		}
		if !p.ended {
			e.appendEnd(p)
			p.ended = true
		}
		if !failed {
			delete(m.points, id)
		}
	}
}

// appendEnd writes a point that ends a series.
func (e *encoder) appendEnd(p *point) {
	e.beginPoint(p.attributes, p.start)
	e.out.number(flagsField, noValue)
	e.out.close()
}

// Fields of a NumberDataPoint.
var (
	asDoubleField   = field{4, "asDouble"}
	asIntField      = field{6, "asInt"}
	attributesField = field{7, "attributes"}
	flagsField      = field{8, "flags"}
)

// noValue is the flag of a point that ends its series.
const noValue = 1

// attributesOf encodes the attributes of a point, without optional labels. The name and number of
// the instance have precedence over labels.
func (e *encoder) attributesOf(labels pdu.LabelSet, inst *export.Instance, hasText bool, s string) []byte {
	own := []string{"value", "instname", "instid"}
	sets := []pdu.LabelSet{labels}
	if inst != nil {
		sets = append(sets, inst.Labels)
	}
	if !hasText {
		own = own[1:]
	}
	w := builder{json: e.JSON}
	w.list(attributesField)
	start := len(w.b)
	w.labelsBut(attributesField, own, sets)
	if inst != nil {
		w.stringAttribute(attributesField, "instname", inst.Name)
		w.intAttribute(attributesField, "instid", int64(uint32(inst.ID)))
	}
	if hasText {
		w.stringAttribute(attributesField, "value", s)
	}
	return w.listAfter(start)
}

// labelsBut appends labels as attributes, except those named in but and optional ones. Later sets
// have precedence.
func (w *builder) labelsBut(f field, but []string, sets []pdu.LabelSet) {
	for i, set := range sets {
		for l := range set.All() {
			overridden := slices.ContainsFunc(sets[i+1:], func(s pdu.LabelSet) bool { _, ok := s.Get(l.Name); return ok })
			if !overridden && l.Flags&pdu.LabelOptional == 0 && !slices.Contains(but, l.Name) {
				w.label(f, l.Name, l)
			}
		}
	}
}

// listAfter ends a list whose elements begin at start, and returns what was written: an empty
// slice, but not nil, for an empty list.
func (w *builder) listAfter(start int) []byte {
	if len(w.b) == start {
		return []byte{}
	}
	w.endList()
	return w.b
}
