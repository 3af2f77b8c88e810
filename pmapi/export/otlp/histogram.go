package otlp

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// histograms are the histograms of a metric whose instances are buckets, for the current list of
// instances.
type histograms struct {
	kind  string // the label buckets; "" if the instances are not buckets
	head  []byte // encoded fields of the metric, with the unit of the observed values
	conv  base.Conversion
	units pdu.Units // of bounds, before conversion
	total *metric   // the metric with the sum of the observed values, or nil
	scale float64   // factor for the values of total

	json   bool
	insts  []*export.Instance
	groups []*group // nil if the instances are not buckets
	gone   []*group // former groups that have not been ended
}

// A group holds the buckets of one histogram. Their labels are equal except for "le".
type group struct {
	attributes []byte
	bounds     []float64
	members    []member
	infinite   bool // the last member has no bound
	ended      bool
	start, at  int64
	counts     []uint64 // disjoint counts of this round
	last       []uint64
}

type member struct {
	le    float64
	index int // index of the value
}

// newHistograms returns the histograms of a counter with the label buckets. Their bounds have the
// units of the label le_unit.
func newHistograms(m *export.Metric, k kind, name string, json bool) (h histograms) {
	how, _ := m.Labels.Lookup("buckets")
	if k != sum || m.InDom == nil || how != "cumulative" && how != "disjoint" {
		return h
	}
	h.units, h.json = m.Desc.Units, json
	if text, ok := m.Labels.Lookup("le_unit"); ok {
		u, mult, err := pdu.ParseUnits(text)
		if err != nil || mult != 1 {
			return h
		}
		h.units = u
	}
	unit, conv := unitOf(pdu.Desc{Units: h.units})
	h.kind, h.head, h.conv = how, describe(m, name, unit, json), conv
	return h
}

// findTotal finds the metric that the label sum_metric names, in full or by its last component.
func (h *histograms) findTotal(m *export.Metric, byName map[string]*metric) {
	h.total = nil
	name, _ := m.Labels.Lookup("sum_metric")
	if h.kind == "" || name == "" {
		return
	}
	if !strings.Contains(name, ".") {
		name = m.Name[:strings.LastIndexByte(m.Name, '.')+1] + name
	}
	total := byName[name]
	if total == nil || total.kind == text || total.source.InDom != nil {
		return
	}
	one, err := pdu.Float64(1).ConvertUnits(total.source.Desc.Units, h.units)
	if err != nil || h.units.Extra() != 0 {
		return
	}
	scale, _ := pdu.As[float64](one)
	h.total, h.scale = total, scale*(h.conv.Mul/h.conv.Div)/(total.conv.Mul/total.conv.Div)
	total.isTotal = true
}

// isHistogram reports whether the instances are buckets with valid counts.
func (m *metric) isHistogram(values pdu.ValueSet) bool {
	if m.histograms.kind == "" || values.Len() == 0 {
		return false
	}
	h := &m.histograms
	same := len(h.insts) == values.Len()
	for i := 0; same && i < len(h.insts); i++ {
		same = h.insts[i] == m.source.InDom.Instance(values.Inst(i))
	}
	if !same {
		h.layOut(m, values)
	}
	for _, g := range h.groups {
		if !g.count(m, values, m.histograms.kind == "cumulative") {
			return false
		}
	}
	return len(h.groups) > 0
}

// layOut groups instances into histograms. Those that existed before with the same bounds continue.
func (h *histograms) layOut(m *metric, values pdu.ValueSet) {
	old := h.groups
	h.insts, h.groups, h.gone = h.insts[:0], nil, nil
	byLabels := map[string]*group{}
	var groups []*group
	for i := range values.Len() {
		inst := m.source.InDom.Instance(values.Inst(i))
		h.insts = append(h.insts, inst)
		label, _ := inst.Labels.Lookup("le")
		le, err := strconv.ParseFloat(label, 64)
		if err != nil || math.IsNaN(le) || math.IsInf(le, -1) {
			groups = nil
			break
		}
		attributes := h.attributesOf(m.source.Labels, inst.Labels)
		g := byLabels[string(attributes)]
		if g == nil {
			g = &group{attributes: attributes}
			byLabels[string(attributes)] = g
			groups = append(groups, g)
		}
		g.members = append(g.members, member{h.conv.Float(le), i})
	}
	for _, g := range groups {
		if !g.order() {
			return
		}
		if i := slices.IndexFunc(old, g.continues); i >= 0 {
			g.start, g.at, g.last, g.ended = old[i].start, old[i].at, old[i].last, old[i].ended
			old = slices.Delete(old, i, i+1)
		}
	}
	h.groups = groups
	if len(groups) > 0 { // else they continue as numbers, in the same metric
		h.gone = slices.DeleteFunc(old, func(g *group) bool { return g.start == 0 || g.ended })
	}
}

// continues reports whether a group is the same histogram as another one.
func (g *group) continues(o *group) bool {
	return bytes.Equal(o.attributes, g.attributes) && slices.Equal(o.bounds, g.bounds)
}

// order sorts the buckets. It returns false if two have the same bound.
func (g *group) order() (ok bool) {
	slices.SortFunc(g.members, func(a, b member) int { return cmp.Compare(a.le, b.le) })
	g.bounds = nil
	for i, m := range g.members {
		if i > 0 && m.le == g.members[i-1].le {
			return false
		}
		if g.infinite = math.IsInf(m.le, 1); g.infinite {
			break
		}
		g.bounds = append(g.bounds, m.le)
	}
	return true
}

// count stores the counts of the buckets as disjoint counts, with one above all bounds. It returns
// false if a value is not a count, or if cumulative counts fall.
func (g *group) count(m *metric, values pdu.ValueSet, cumulative bool) (ok bool) {
	g.counts = g.counts[:0]
	var below uint64
	for _, member := range g.members {
		v, ok := base.NumberOf(values.Atom(member.index, m.source.Desc.Type))
		v = m.conv.Apply(v)
		if !ok || v.Neg || v.Float >= 1<<63 || math.IsNaN(v.Float) {
			return false
		}
		n := v.Integer
		if !v.IsInt {
			n = uint64(v.Float)
		}
		if cumulative {
			if n < below {
				return false
			}
			n, below = n-below, n
		}
		g.counts = append(g.counts, n)
	}
	if !g.infinite {
		g.counts = append(g.counts, 0)
	}
	return true
}

// appendHistograms writes the histograms that isHistogram has found, and ends former ones.
func (e *encoder) appendHistograms(m *metric) {
	clear(m.points)
	m.live = 0
	h := &m.histograms
	for _, g := range h.gone {
		if !slices.ContainsFunc(h.groups, func(now *group) bool { return bytes.Equal(now.attributes, g.attributes) }) { // not if it continues with other bounds
			e.appendHistogramEnd(g)
		}
	}
	h.gone = nil
	for _, g := range h.groups {
		fallen := false
		for i, n := range g.last {
			fallen = fallen || n > g.counts[i]
		}
		switch {
		case g.start == 0:
			g.start = e.now
		case fallen:
			g.start = restart(g.start, g.at)
		}
		g.at, g.ended = e.now, false
		g.last, g.counts = g.counts, g.last
		e.beginPoint(g.attributes, g.start)
		e.appendBuckets(g, g.last)
		if sum, ok := m.sumOf(g); ok {
			e.out.double(histogramSumField, sum)
		}
		e.out.close()
	}
}

// Fields of a HistogramDataPoint.
var (
	countField               = field{4, "count"}
	histogramSumField        = field{5, "sum"}
	bucketCountsField        = field{6, "bucketCounts"}
	explicitBoundsField      = field{7, "explicitBounds"}
	histogramAttributesField = field{9, "attributes"}
	histogramFlagsField      = field{10, "flags"}
)

// attributesOf returns the attributes of a histogram.
func (h *histograms) attributesOf(sets ...pdu.LabelSet) []byte {
	w := builder{json: h.json}
	w.list(histogramAttributesField)
	start := len(w.b)
	w.labelsBut(histogramAttributesField, []string{"le", "buckets", "le_unit", "sum_metric"}, sets)
	return w.listAfter(start)
}

func (e *encoder) appendBuckets(g *group, counts []uint64) {
	var total uint64
	for _, n := range counts {
		total += n
	}
	e.out.counts(bucketCountsField, counts)
	e.out.doubles(explicitBoundsField, g.bounds)
	e.out.fixed64(countField, int64(total))
}

// sumOf returns the sum of the observed values. It returns false unless there is only one histogram
// and no value is negative.
func (m *metric) sumOf(g *group) (sum float64, ok bool) {
	h := &m.histograms
	if h.total == nil || !h.total.hasTotal || len(h.groups) > 1 || g.members[0].le < 0 {
		return 0, false
	}
	sum = h.total.total * h.scale
	return sum, sum >= 0
}

// appendHistogramEnd ends a histogram. The point includes the buckets, because receivers may keep
// them as series.
func (e *encoder) appendHistogramEnd(g *group) {
	g.ended = true
	e.beginPoint(g.attributes, g.start)
	e.appendBuckets(g, make([]uint64, len(g.last)))
	e.out.number(histogramFlagsField, noValue)
	e.out.close()
}

// appendEndedHistograms ends all histograms of a metric without values. After a failure it keeps
// their state, because they may continue.
func (e *encoder) appendEndedHistograms(m *metric, failed bool) {
	for _, g := range m.histograms.groups {
		if g.start != 0 && !g.ended {
			e.appendHistogramEnd(g)
		}
	}
	if !failed {
		m.histograms.forget()
	}
}

// forget drops the layout, so that later histograms are new.
func (h *histograms) forget() { h.insts, h.groups, h.gone = nil, nil, nil }
