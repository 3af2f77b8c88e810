package otlp

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// histograms are those of a metric whose instances are buckets, as they were laid out for a list of instances.
type histograms struct {
	insts  []*export.Instance
	groups []*group // nil if the instances are no buckets
}

// A group of buckets is one histogram: those whose labels are equal but for "le".
type group struct {
	attributes []byte
	bounds     []byte // "explicitBounds":[…]
	members    []member
	infinite   bool // the last member has no bound
	start, at  int64
	counts     []uint64 // of this round, disjoint
	last       []uint64
}

type member struct {
	le    float64
	index int // among the values
}

// bucketKind is what the label "buckets" says of a counter; "" if its instances are not said to be buckets.
func bucketKind(m *export.Metric, k kind) string {
	if k != sum || m.InDom == nil {
		return ""
	}
	how, _ := m.Labels.Lookup("buckets")
	if how != "cumulative" && how != "disjoint" {
		return ""
	}
	return how
}

// isHistogram is whether the instances are buckets, and their counts are such as buckets have.
func (m *metric) isHistogram(values pdu.ValueSet) bool {
	if m.buckets == "" || values.Len() == 0 {
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
		if !g.count(m, values, m.buckets == "cumulative") {
			return false
		}
	}
	return len(h.groups) > 0
}

// layOut finds the histograms. Those that were there before, with the same bounds, go on.
func (h *histograms) layOut(m *metric, values pdu.ValueSet) {
	old := h.groups
	h.insts, h.groups = h.insts[:0], nil
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
		attributes := closed(attributesBut([]string{"le", "buckets", "le_unit", "sum_metric"}, []pdu.LabelSet{m.source.Labels, inst.Labels}))
		g := byLabels[string(attributes)]
		if g == nil {
			g = &group{attributes: attributes}
			byLabels[string(attributes)] = g
			groups = append(groups, g)
		}
		g.members = append(g.members, member{le, i})
	}
	for _, g := range groups {
		if !g.order() {
			return
		}
		for _, o := range old {
			if bytes.Equal(o.attributes, g.attributes) && bytes.Equal(o.bounds, g.bounds) {
				g.start, g.at, g.last = o.start, o.at, o.last
			}
		}
	}
	h.groups = groups
}

// order sorts the buckets; ok is false if two have one bound.
func (g *group) order() (ok bool) {
	slices.SortFunc(g.members, func(a, b member) int { return cmp.Compare(a.le, b.le) })
	g.bounds = []byte(`"explicitBounds":[`)
	for i, m := range g.members {
		if i > 0 && m.le == g.members[i-1].le {
			return false
		}
		if g.infinite = math.IsInf(m.le, 1); g.infinite {
			break
		}
		if i > 0 {
			g.bounds = append(g.bounds, ',')
		}
		g.bounds = appendDouble(g.bounds, m.le, 64)
	}
	g.bounds = append(g.bounds, ']')
	return true
}

// count takes the counts of the buckets, disjoint and with one above all bounds; ok is false if a value is no count, or falls where it must not.
func (g *group) count(m *metric, values pdu.ValueSet, cumulative bool) (ok bool) {
	g.counts = g.counts[:0]
	var below uint64
	for _, member := range g.members {
		v, err := pdu.As[float64](values.Atom(member.index, m.source.Desc.Type))
		if err != nil || v < 0 || v*m.factor >= 1<<63 || math.IsNaN(v) {
			return false
		}
		n := uint64(v * m.factor)
		if m.source.Desc.Type == pdu.TypeU64 && m.factor == 1 {
			n, _ = pdu.As[uint64](values.Atom(member.index, pdu.TypeU64))
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

// appendHistograms writes what isHistogram has found.
func (e *Encoder) appendHistograms(b []byte, m *metric) []byte {
	clear(m.points)
	m.live = 0
	for _, g := range m.histograms.groups {
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
		g.at = e.now
		g.last, g.counts = g.counts, g.last
		b = e.appendPoint(b, g.attributes, g.start)
		var total uint64
		b = append(b, `"bucketCounts":[`...)
		for i, n := range g.last {
			if i > 0 {
				b = append(b, ',')
			}
			total += n
			b = append(strconv.AppendUint(append(b, '"'), n, 10), '"')
		}
		b = append(append(b, "],"...), g.bounds...)
		b = strconv.AppendUint(append(b, `,"count":"`...), total, 10)
		b = append(b, `"}`...)
	}
	return b
}
