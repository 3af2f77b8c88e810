package pmapi

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A LabelFilter reports whether to keep an instance with these labels, merged from all levels. Any
// function of this type is one:
//
//	func(l pdu.LabelSet) bool { size, _ := l.Get("size"); v, _ := size.Number(); return v > 1e12 }
type LabelFilter func(labels pdu.LabelSet) bool

// LabelIs returns a filter that is true for labels that include this name with one of the values,
// which are compared with the text of LabelSet.Lookup. Without values, any value matches.
func LabelIs(name string, values ...string) LabelFilter {
	return func(labels pdu.LabelSet) bool {
		text, ok := labels.Lookup(name)
		return ok && (len(values) == 0 || slices.Contains(values, text))
	}
}

// Where keeps the instances of a Set whose labels match every filter. A metric without instances is
// in the Set if its own labels match.
//
//	eth := pmapi.AddSet[float64](g, "network.interface.in.bytes",
//		pmapi.Where(pmapi.LabelIs("interface", "eth0", "eth1")))
//
// The labels are those of MetricLabels. A Fetch requests them when an instance appears, and again
// when the collector reports that labels or agents changed, or when the position in an archive
// reaches other labels. If that request fails, the Set has no values, and its error is that of the
// request, such as pdu.ErrNoLabels from a collector older than PCP 4. Where is for AddSet and
// AddTree; with other functions it is pdu.ErrArg. pmFetchGroup(3) has no counterpart.
func Where(filters ...LabelFilter) ItemOption {
	f := LabelFilter(func(labels pdu.LabelSet) bool {
		return !slices.ContainsFunc(filters, func(f LabelFilter) bool { return !f(labels) })
	})
	return func(o *itemOptions) { o.where = &f }
}

// A labelSelection has the instances of a metric that a LabelFilter selects.
type labelSelection struct {
	filter   *LabelFilter // nil selects all
	selected map[pdu.InstID]bool
	gen      int    // of the list of instances
	epoch    uint64 // of labels
	shown    []int  // the rows of the Set that are selected
}

// isCurrent reports whether labels are as they were when they were requested.
func (l *labelSelection) isCurrent(g *Group) bool {
	return l.filter == nil || l.epoch == g.epoch.Labels
}

// reset forgets which instances are selected.
func (l *labelSelection) reset(filter *LabelFilter) {
	*l = labelSelection{filter: filter, shown: l.shown[:0]}
}

// index returns the index of the row of the selected instance i.
func (l *labelSelection) index(i int) int {
	if l.filter == nil {
		return i
	}
	return l.shown[i]
}

// update finds which instances of a set of values are selected. It requests the labels if they may
// have changed.
func (l *labelSelection) update(ctx context.Context, m *groupMetric, v pdu.ValueSet) error {
	if l.filter == nil {
		return nil
	}
	l.shown = l.shown[:0]
	gen := 0
	if m.domain != nil {
		gen = m.domain.gen
	}
	known := l.selected != nil && l.gen == gen && l.isCurrent(m.g)
	for i := 0; i < v.Len() && known; i++ {
		_, known = l.selected[v.Inst(i)]
	}
	if !known {
		l.selected = nil
		labels, err := m.g.c.metricLabels(ctx, m.desc, everything)
		if err != nil {
			return err
		}
		l.selected, l.gen, l.epoch = map[pdu.InstID]bool{}, gen, m.g.epoch.Labels
		for i := range v.Len() {
			id := v.Inst(i)
			l.selected[id] = (*l.filter)(labels.Instance(id))
		}
	}
	for i := range v.Len() {
		if l.selected[v.Inst(i)] {
			l.shown = append(l.shown, i)
		}
	}
	return nil
}
