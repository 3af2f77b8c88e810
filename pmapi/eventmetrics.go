package pmapi

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// The two metrics of event records exist in every context, although no collector
// knows them: names, descriptors and texts are answered here, and where a
// collector has put an error for them into a result, there are no values. A
// collector's own metric hides the one of the same name.

// An eventMetric is one of them.
type eventMetric struct {
	name          string
	id            pdu.PMID
	oneLine, help string
}

var eventMetrics = [...]eventMetric{
	{pdu.EventFlagsName, pdu.EventFlagsPMID, "What an event record stands for",
		"The flags of a record of an event array: see pmUnpackEventRecords(3).\nNo agent has values of this metric."},
	{pdu.EventMissedName, pdu.EventMissedPMID, "Number of events that were lost",
		"How many events a record of an event array stands for that came faster\nthan agent or client took them: see pmUnpackEventRecords(3). No agent has\nvalues of this metric."},
}

// eventMetricOf is the metric with a PMID, nil if it is another.
func eventMetricOf(id pdu.PMID) *eventMetric {
	for i := range eventMetrics {
		if eventMetrics[i].id == id {
			return &eventMetrics[i]
		}
	}
	return nil
}

func (m *eventMetric) desc() pdu.Desc {
	return pdu.Desc{PMID: m.id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
}

// text is a help text; kind is that of Context.Text.
func (m *eventMetric) text(kind pdu.TextKind) string {
	if kind&pdu.TextHelp != 0 {
		return m.help
	}
	return m.oneLine
}

// lookupEvents finds names that the source does not know.
func lookupEvents(names []string, ids []pdu.PMID) {
	for i, id := range ids {
		if id != pdu.NoPMID {
			continue
		}
		for j := range eventMetrics {
			if eventMetrics[j].name == names[i] {
				ids[i] = eventMetrics[j].id
			}
		}
	}
}

// describeEvents describes metrics that the source does not know.
func describeEvents(ids []pdu.PMID, descs []pdu.Desc) {
	for i, id := range ids {
		if m := eventMetricOf(id); m != nil && descs[i].PMID == pdu.NoPMID {
			descs[i] = m.desc()
		}
	}
}

// traverseEvents adds the names below a name to those of the source, which err
// says to have none. The error is nil if there are any now.
func traverseEvents(name string, names []string, err error) ([]string, error) {
	for i := range eventMetrics {
		n := eventMetrics[i].name
		below := name == "" || n == name || strings.HasPrefix(n, name+".")
		if below && (err == nil || pdu.FromError(err) == pdu.ErrName) && !slices.Contains(names, n) {
			names, err = append(names, n), nil
		}
	}
	return names, err
}

// eventChildren adds what is below a name, as traverseEvents does.
func eventChildren(name string, children []Child, err error) ([]Child, error) {
	names, err := traverseEvents(name, nil, err)
	for _, n := range names {
		rest := n
		if name != "" {
			rest = strings.TrimPrefix(n, name)
			if rest = strings.TrimPrefix(rest, "."); rest == "" {
				continue // itself
			}
		}
		first, _, more := strings.Cut(rest, ".")
		if !slices.ContainsFunc(children, func(c Child) bool { return c.Name == first }) {
			children = append(children, Child{Name: first, Leaf: !more})
		}
	}
	return children, err
}

// hasEvents reports whether an event metric is among those asked for.
func hasEvents(ids []pdu.PMID) bool {
	return slices.ContainsFunc(ids, func(id pdu.PMID) bool { return id == pdu.EventFlagsPMID || id == pdu.EventMissedPMID })
}

// withoutEvents makes "no values" of errors about event metrics.
func withoutEvents(r *pdu.Result) error {
	w := pdu.ResultWriter{Time: r.Time}
	for _, s := range r.All() {
		if eventMetricOf(s.PMID) != nil && s.Err() != nil {
			w.Begin(s.PMID)
		} else {
			w.Copy(s)
		}
	}
	n, err := w.Result()
	if err != nil {
		return err
	}
	n.Format, n.Changed = r.Format, r.Changed
	*r = *n
	return nil
}
