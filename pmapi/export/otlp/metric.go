package otlp

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// A kind is what a metric becomes.
type kind byte

const (
	gauge kind = iota + 1
	sum
	text // a gauge whose attribute is a string
)

// kindOf is 0 for a metric that is left out.
func (e *Encoder) kindOf(m *export.Metric) kind {
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

// A metric is one of a Reader as it is written, with its series.
type metric struct {
	source    *export.Metric
	kind      kind
	described uint64 // the generation that has it

	head   []byte // {"name":…,"unit":…,
	open   string // "gauge":{"dataPoints":[
	factor float64
	bits   int  // of doubles: 32 for those that were floats
	double bool // values are written as doubles: some have been no int64

	points map[pdu.InstID]*point
	live   int // how many points have not ended

	histograms histograms

	isTotal  bool    // its value is the sum of a histogram
	hasTotal bool    // it has one in this round
	total    float64 // multiplied by factor
}

// A point is a series of numbers.
type point struct {
	attributes []byte // "attributes":[…],
	named      uint64 // the generation of the attributes; then instance and text
	inst       *export.Instance
	text       string
	start      int64 // 0 but for a sum
	at         int64 // when it had its last value
	last       number
	seen       uint64 // the round with the last value
	ended      bool
}

func newMetric(m *export.Metric, k kind) *metric {
	unit, factor := ucum(m.Desc.Units)
	if k == text {
		unit, factor = "", 1
	}
	open := `"gauge":{"dataPoints":[`
	if k == sum {
		open = `"sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[`
	}
	double := m.Desc.Type == pdu.TypeFloat || m.Desc.Type == pdu.TypeDouble || factor != 1
	bits := 64
	if m.Desc.Type == pdu.TypeFloat && factor == 1 {
		bits = 32
	}
	return &metric{source: m, bits: bits, kind: k, head: appendDescription(nil, m, unit), open: open, factor: factor, double: double,
		histograms: newHistograms(m, k), points: map[pdu.InstID]*point{}}
}

// appendDescription begins a metric with all but its data.
func appendDescription(b []byte, m *export.Metric, unit string) []byte {
	b = appendString(append(b, `{"name":`...), m.Name)
	if m.Line != "" {
		b = appendString(append(b, `,"description":`...), m.Line)
	}
	if unit != "" {
		b = appendString(append(b, `,"unit":`...), unit)
	}
	return append(b, ',')
}

// setTotal takes the value of a metric that is the sum of a histogram.
func (m *metric) setTotal(values pdu.ValueSet) {
	m.hasTotal = false
	if values.Len() == 1 {
		var n number
		n, m.hasTotal = m.numberOf(values.Atom(0, m.source.Desc.Type))
		m.total = n.float
	}
}

// A number is a value as it is written, and whether it is an int64.
type number struct {
	integer int64
	float   float64
}

// numberOf is the value of a number; ok is false for one that is none.
func (m *metric) numberOf(a pdu.Atom) (n number, ok bool) {
	switch a.Type {
	case pdu.Type32, pdu.Type64:
		v, err := pdu.As[int64](a)
		return number{v, float64(v) * m.factor}, err == nil
	case pdu.TypeU32, pdu.TypeU64:
		v, err := pdu.As[uint64](a)
		return number{int64(v), float64(v) * m.factor}, err == nil
	case pdu.TypeFloat:
		v, err := pdu.As[float32](a)
		return number{float: float64(v) * m.factor}, err == nil
	case pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return number{float: v * m.factor}, err == nil
	}
	return number{}, false
}

// less is whether n is a fall from m's last value.
func (m *metric) less(n, last number) bool {
	if m.double {
		return n.float < last.float
	}
	return n.integer < last.integer
}

// widen makes doubles of all values once one is no int64.
func (m *metric) widen(values pdu.ValueSet) {
	if m.double || m.source.Desc.Type != pdu.TypeU64 {
		return
	}
	for i := range values.Len() {
		if v, err := pdu.As[uint64](values.Atom(i, pdu.TypeU64)); err == nil && v > math.MaxInt64 {
			m.double = true
			return
		}
	}
}

// appendPoints writes the values of a metric, and ends the series that have none.
func (e *Encoder) appendPoints(b []byte, m *metric, values pdu.ValueSet) []byte {
	m.widen(values)
	seen := 0
	for i := range values.Len() {
		a := values.Atom(i, m.source.Desc.Type)
		n, ok := m.numberOf(a)
		if m.kind == text {
			ok = a.Type == pdu.TypeString
			n = number{integer: 1, float: 1}
		}
		if !ok || m.kind == sum && math.IsNaN(n.float) {
			continue
		}
		p := m.points[values.Inst(i)]
		if p != nil && p.seen == e.round {
			continue // a source that has an instance twice
		}
		if p == nil {
			p = &point{ended: true}
			m.points[values.Inst(i)] = p
		}
		b = e.name(b, m, p, values.Inst(i), a)
		p.seen = e.round
		seen++
		b = e.appendValue(b, m, p, n)
	}
	if seen < m.live || seen < len(m.points) {
		return e.appendMissing(b, m, values.Err() != nil)
	}
	m.live = seen
	return b
}

// name makes the attributes of a point, if its instance or text is another one than before, and ends the series that it was.
func (e *Encoder) name(b []byte, m *metric, p *point, id pdu.InstID, a pdu.Atom) []byte {
	inst := m.source.InDom.Instance(id)
	s := ""
	if m.kind == text {
		s, _ = pdu.As[string](a)
	}
	if p.named == m.described && p.inst == inst && p.text == s {
		return b
	}
	attributes := attributesOf(m.source.Labels, inst, m.kind == text, s)
	if !bytes.Equal(attributes, p.attributes) {
		if p.attributes != nil && !p.ended {
			b = e.appendEnd(b, p)
		}
		*p = point{attributes: attributes, ended: true}
	}
	p.named, p.inst, p.text = m.described, inst, s
	return b
}

// appendValue writes a value. The series of a counter starts when it is seen first, or where it was before a reset.
func (e *Encoder) appendValue(b []byte, m *metric, p *point, n number) []byte {
	if m.kind == sum {
		switch {
		case p.start == 0:
			p.start = e.now
		case m.less(n, p.last):
			p.start = restart(p.start, p.at)
		}
	}
	p.last, p.at, p.ended = n, e.now, false
	b = e.appendPoint(b, p.attributes, p.start)
	if m.double {
		return append(appendDouble(append(b, `"asDouble":`...), n.float, m.bits), '}')
	}
	b = strconv.AppendInt(append(b, `"asInt":"`...), n.integer, 10)
	return append(b, `"}`...)
}

// restart is the start time after a reset: that of the last value, but never the start time that the series had.
func restart(start, last int64) int64 { return max(last, start+1) }

// appendMissing ends the series without a value. Those of a metric that has failed are kept: a counter may go on after that.
func (e *Encoder) appendMissing(b []byte, m *metric, failed bool) []byte {
	m.live = 0
	for id, p := range m.points {
		if p.seen == e.round {
			m.live++
			continue
		}
		if !p.ended {
			b = e.appendEnd(b, p)
			p.ended = true
		}
		if !failed {
			delete(m.points, id)
		}
	}
	return b
}

// appendEnd writes that a series has no value any more.
func (e *Encoder) appendEnd(b []byte, p *point) []byte {
	return append(e.appendPoint(b, p.attributes, p.start), `"flags":1}`...)
}

// attributesOf are those of a point. Labels that are notes are left out, and what tells instances apart has precedence.
func attributesOf(labels pdu.LabelSet, inst *export.Instance, hasText bool, s string) []byte {
	own := []string{"value", "instname", "instid"}
	sets := []pdu.LabelSet{labels}
	if inst != nil {
		sets = append(sets, inst.Labels)
	}
	if !hasText {
		own = own[1:]
	}
	b := attributesBut(own, sets)
	if inst != nil {
		b = appendStringAttribute(b, "instname", inst.Name)
		b = strconv.AppendUint(append(appendKey(b, "instid"), `{"intValue":"`...), uint64(uint32(inst.ID)), 10)
		b = append(b, `"}}`...)
	}
	if hasText {
		b = appendStringAttribute(b, "value", s)
	}
	return closed(b)
}

// attributesBut begins the attributes of labels, later sets having precedence, but for some.
func attributesBut(but []string, sets []pdu.LabelSet) []byte {
	b := []byte(`"attributes":[`)
	for i, set := range sets {
		for l := range set.All() {
			overridden := slices.ContainsFunc(sets[i+1:], func(s pdu.LabelSet) bool { _, ok := s.Get(l.Name); return ok })
			if !overridden && l.Flags&pdu.LabelOptional == 0 && !slices.Contains(but, l.Name) {
				b = appendLabel(b, l.Name, l)
			}
		}
	}
	return b
}

// closed ends attributes; without any there are none.
func closed(b []byte) []byte {
	if b[len(b)-1] == '[' {
		return []byte{}
	}
	return append(b, "],"...)
}
