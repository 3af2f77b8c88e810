package otlp

import (
	"maps"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// distinctNames returns new names for metrics whose names collide in Prometheus, with another
// metric or with a page's own metrics. Prometheus makes of them the names that package openmetrics
// writes.
func distinctNames(s *export.Snapshot) map[string]string {
	byName := make(map[string]*export.Metric, s.Len())
	for m := range s.All() {
		byName[m.Name] = m
	}
	var names base.Names
	names.ReservePage()
	numbered := map[string]string{}
	for _, pcp := range slices.Sorted(maps.Keys(byName)) {
		if name, ok := prometheusName(byName[pcp]); ok {
			if name, ok := names.Add(name, base.Underscores); ok {
				numbered[pcp] = name.Stem
			}
		}
	}
	return numbered
}

// prometheusName returns the name of a metric in Prometheus, and whether it has one.
func prometheusName(m *export.Metric) (name base.Name, ok bool) {
	shape := base.Gauge
	switch {
	case m.Desc.Type == pdu.TypeString:
		return base.NameOf(m.Name, "", base.Info), m.Desc.Sem == pdu.SemDiscrete
	case m.Desc.Type > pdu.TypeDouble:
		return base.Name{}, false
	case m.Desc.Sem == pdu.SemCounter:
		shape = base.Counter
	}
	units := m.Desc.Units
	h := newHistograms(m, sum, "", false)
	if h.kind != "" {
		shape, units = base.Histogram, h.units
	}
	c, _ := base.From(units)
	if c.Sub != 0 && shape == base.Counter {
		c = base.Same
	}
	return base.NameOf(m.Name, c.Unit, shape), true
}
