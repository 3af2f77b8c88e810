package pmapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Name returns the name of the metric.
func (m *groupMetric) Name() string { return m.name }

// Desc returns the descriptor of the metric, as of the latest Fetch. Its PMID is pdu.NoPMID before
// the first Fetch, and for a metric that cannot be described.
func (m *groupMetric) Desc() pdu.Desc {
	if m.desc == (pdu.Desc{}) {
		return noDesc
	}
	return m.desc
}

// Remove removes the metric from its group. Later fetches leave it out, and instead of a value it
// has the error pdu.ErrArg. Remove may be called between fetches, also in a loop over Every. Other
// items keep their values and rates.
func (m *groupMetric) Remove() { m.g.remove(map[*groupMetric]bool{m: true}) }

// remove removes metrics from the group.
func (g *Group) remove(gone map[*groupMetric]bool) {
	before := len(g.members)
	g.members = slices.DeleteFunc(g.members, func(m member) bool { return gone[m.base()] })
	if len(g.members) == before {
		return
	}
	for m := range gone {
		m.why = g.removed(m.name)
	}
	g.unresolved = true // so that what is fetched is planned again
}

// removed returns the error of a removed member.
func (g *Group) removed(name string) error {
	return g.c.fail("fetch", name, fmt.Errorf("removed from its group: %w", pdu.ErrArg))
}

// units returns the units of the values as text.
func (m *groupMetric) units(c conversion) string {
	switch u := m.desc.Units; {
	case m.Desc().PMID == pdu.NoPMID:
		return ""
	case c.nanos != 0 && c.rate:
		return "nanosec / sec"
	case c.nanos != 0:
		return pdu.TimeNSec.String()
	case m.opts.hasScale && m.opts.scale != "rate" && m.opts.scale != "instant":
		return m.opts.scale
	case !c.rate:
		return u.String()
	case u.DimTime() != 0: // pdu.Units would give it another scale
		return u.String() + " / sec"
	default:
		per, _, _ := perSecond(u) // which fails for units of time alone
		return per.String()
	}
}

// Units returns the units of the values as text for people: "Kbyte / sec" for the rate of a counter
// of Kbyte, or the text of Scale. It is empty for numbers without units, and before the first
// Fetch.
func (i *Item[T]) Units() string { return i.units(i.conv.conversion) }

// Units returns the units of the values; see Item.Units.
func (s *Set[T]) Units() string { return s.units(s.conv.conversion) }

// Time returns the time of the value by the collector's clock. It is the time of the latest Fetch,
// or of an earlier one if a discrete metric kept its value. It is zero if there is no value.
func (i *Item[T]) Time() time.Time {
	if i.why != nil || i.code != 0 {
		return time.Time{}
	}
	return i.at
}

// Time returns the time of the values, or zero if Len is 0; see Item.Time.
func (s *Set[T]) Time() time.Time {
	if s.Len() == 0 {
		return time.Time{}
	}
	return s.at
}

// Labels requests the labels of the instance, or of a metric without instances: those of all
// levels, merged. See MetricLabels.
func (i *Item[T]) Labels(ctx context.Context) (pdu.LabelSet, error) {
	none := pdu.LabelSet{Inst: pdu.NoInst}
	switch {
	case i.Desc().PMID == pdu.NoPMID:
		return none, i.err()
	case i.noInst:
		return none, i.failure("", pdu.ErrInst)
	}
	all, err := i.g.c.metricLabels(ctx, i.desc, everything)
	if err != nil {
		return none, err
	}
	set := all.Instance(i.inst)
	return set, i.failure("", set.Err)
}

// Labels requests the labels of the metric and of all its instances. See MetricLabels.
func (s *Set[T]) Labels(ctx context.Context) (*MetricLabels, error) {
	if s.Desc().PMID == pdu.NoPMID {
		return nil, s.err()
	}
	return s.g.c.metricLabels(ctx, s.desc, everything)
}
