package logrewrite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A metricSpec is the changes to a metric.
type metricSpec struct {
	old, new         pdu.Desc
	oldName, newName string

	pmid, name, typ, indom, sem, units bool // what changes
	deleted                            bool
	deletedBy                          int // number of the rule
	rescale                            bool
	output                             outputChoice
	outputInst                         pdu.InstID // of the kept value, if output picks an instance
	values                             []*pattern // applied in order
	insts                              *indomSpec // changes to the old instance domain, if its instances change
	active                             bool
}

func (s *metricSpec) changes() bool {
	return s.pmid || s.name || s.typ || s.indom || s.sem || s.units || len(s.values) > 0 || s.deleted || s.insts != nil
}

// beginMetrics begins a rule for metrics.
func (p *Plan) beginMetrics(of metricTarget) func(change) error {
	for _, s := range p.metrics {
		s.active = false
	}
	for _, id := range p.find(of) {
		if s := p.metricSpec(id); s != nil {
			s.active = true
		}
	}
	return p.changeMetrics
}

// find returns the metrics that a rule selects. It warns of an unknown name.
func (p *Plan) find(of metricTarget) []pdu.PMID {
	if of.name != "" {
		id, err := p.names.Lookup(of.name)
		if err != nil {
			p.warn("Metric: %s: %v", of.name, pdu.FromError(err))
			return nil
		}
		return []pdu.PMID{id}
	}
	if of.id.one() {
		return []pdu.PMID{of.id.of(0)}
	}
	var all []pdu.PMID
	for _, m := range p.metricOrder {
		if of.id.matches(m.PMID) {
			all = append(all, m.PMID)
		}
	}
	return all
}

// metricSpec returns the changes to a metric, or nil if the archive does not have it.
func (p *Plan) metricSpec(id pdu.PMID) *metricSpec {
	if s := p.byMetric[id]; s != nil {
		return s
	}
	names := p.names.Names(id)
	desc, ok := p.meta.Desc(id)
	if len(names) == 0 || !ok {
		p.warn("Metric %v pmNameID: %v", id, pdu.ErrPMID)
		return nil
	}
	s := &metricSpec{old: desc, new: desc, oldName: names[0]}
	p.metrics = append(p.metrics, s)
	p.byMetric[id] = s
	return s
}

// maxName is the maximum length of a metric name that archive readers accept.
const maxName = 4096

// changeMetrics applies a change to the metrics of the current rule.
func (p *Plan) changeMetrics(c change) error {
	var replace *pattern
	if c, ok := c.(replaceValues); ok {
		var err error
		if replace, err = p.pattern(c.find, c.with); err != nil {
			return err
		}
	}
	for _, s := range slices.Backward(p.metrics) {
		if s.active {
			if err := p.changeMetric(s, c, replace); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeMetric applies a change to a metric. replace is the pattern of a replaceValues.
func (p *Plan) changeMetric(s *metricSpec, c change, replace *pattern) error {
	switch c := c.(type) {
	case deletion:
		if s.deleted && s.deletedBy == p.rules {
			return nil // twice in one rule
		}
		if s.deleted {
			return p.errorf("Duplicate delete clause for metric %s", s.oldName)
		}
		if s.pmid || s.name || s.typ || s.indom || s.sem || s.units || len(s.values) > 0 {
			return p.errorf("Conflicting delete and other clauses for metric %s", s.oldName)
		}
		s.deleted, s.deletedBy = true, p.rules
		return nil
	case setPMID:
		return p.setPMID(s, c)
	case setName:
		return p.setName(s, c)
	case setType:
		return p.setType(s, c)
	case setSem:
		if err := p.once(s, s.sem, "sem"); err != nil {
			return err
		}
		if c.sem == s.old.Sem {
			p.warn("Metric: %s (%v): sem: %s: No change", s.oldName, s.old.PMID, semText(c.sem))
			return nil
		}
		s.new.Sem, s.sem = c.sem, true
		return nil
	case setUnits:
		return p.setUnits(s, c)
	case replaceValues:
		if err := p.once(s, false, "value"); err != nil {
			return err
		}
		if s.old.Type != pdu.TypeString {
			p.always("Metric: %s (%v): Type %s not STRING, cannot change value", s.oldName, s.old.PMID, s.old.Type)
			return nil
		}
		s.values = append(s.values, replace)
		return nil
	case moveInDom:
		return p.setInDom(s, c)
	}
	return p.wrong(c)
}

// once checks that a metric is not changed twice, and not deleted.
func (p *Plan) once(s *metricSpec, changed bool, what string) error {
	if changed {
		return p.errorf("Duplicate %s clause for metric %s", what, s.oldName)
	}
	if s.deleted {
		return p.errorf("Conflicting %s clause for deleted metric %s", what, s.oldName)
	}
	return nil
}

func (p *Plan) setPMID(s *metricSpec, c setPMID) error {
	if err := p.once(s, s.pmid, "pmid"); err != nil {
		return err
	}
	to := c.to.of(s.old.PMID)
	if to == s.old.PMID {
		p.warn("Metric: %s (%v): pmid: No change", s.oldName, s.old.PMID)
		return nil
	}
	s.new.PMID, s.pmid = to, true
	return nil
}

// checkNames checks that no new name is above or below the name of another metric, since readers
// could reach only one of the two.
func (p *Plan) checkNames() error {
	if !slices.ContainsFunc(p.metrics, func(s *metricSpec) bool { return s.name && !s.deleted }) {
		return nil
	}
	isNew := map[string]bool{} // whether a name of the output is new
	for m := range p.meta.Metrics() {
		s := p.byMetric[m.PMID]
		if s != nil && s.deleted {
			continue
		}
		for _, name := range m.Names {
			if s != nil && s.name && name == s.oldName {
				isNew[s.newName] = true
			} else if !isNew[name] {
				isNew[name] = false
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(isNew)) {
		for i, c := range name {
			if above, ok := isNew[name[:i]]; c == '.' && ok && (above || isNew[name]) {
				return fmt.Errorf("metric name %s is below %s, which is a metric", name, name[:i])
			}
		}
	}
	return nil
}

func (p *Plan) setName(s *metricSpec, c setName) error {
	if err := p.once(s, s.name, "name"); err != nil {
		return err
	}
	if c.name == s.oldName {
		p.warn("Metric: %s (%v): name: No change", s.oldName, s.old.PMID)
		return nil
	}
	if c.name == "" || len(c.name) > maxName {
		return p.errorf("Metric name of %d characters, limit %d", len(c.name), maxName)
	}
	if id, err := p.names.Lookup(c.name); err == nil && !c.dupOK {
		return p.errorf("Metric name %s already assigned for PMID %v", c.name, id)
	}
	s.newName, s.name = c.name, true
	return nil
}

func (p *Plan) setType(s *metricSpec, c setType) error {
	if err := p.once(s, s.typ && c.ifType == nil, "type"); err != nil {
		return err
	}
	switch {
	case c.ifType != nil && s.old.Type != *c.ifType:
		p.warn("Metric: %s (%v): type: PM_TYPE_%s: No conditional change to PM_TYPE_%s", s.oldName, s.old.PMID, s.old.Type, c.to)
	case c.ifType == nil && s.old.Type == c.to:
		p.warn("Metric: %s (%v): type: PM_TYPE_%s: No change", s.oldName, s.old.PMID, c.to)
	case !numeric(s.old.Type):
		return p.errorf("Old type (PM_TYPE_%s) must be numeric", s.old.Type)
	default:
		s.new.Type, s.typ = c.to, true
	}
	return nil
}

func numeric(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeDouble }

func (p *Plan) setUnits(s *metricSpec, c setUnits) error {
	if err := p.once(s, s.units, "units"); err != nil {
		return err
	}
	if c.units == s.old.Units {
		p.warn("Metric: %s (%v): units: %s: No change", s.oldName, s.old.PMID, c.units)
		return nil
	}
	s.new.Units, s.units = c.units, true
	o := s.old.Units
	same := o.DimSpace() == c.units.DimSpace() && o.DimTime() == c.units.DimTime() && o.DimCount() == c.units.DimCount() &&
		(c.units.Extra() == 0 || o.Extra() == c.units.Extra())
	switch {
	case c.rescale && !same:
		p.warn("Metric: %s (%v): Dimension changed, cannot rescale", s.oldName, s.old.PMID)
	case same:
		s.rescale = c.rescale || p.opts.Rescale
	}
	return nil
}

// setInDom moves a metric to another instance domain.
func (p *Plan) setInDom(s *metricSpec, c moveInDom) error {
	if err := p.once(s, s.indom, "indom"); err != nil {
		return err
	}
	to := pdu.NoInDom
	if !c.none {
		to = c.to.of(s.old.InDom)
	}
	if to == s.old.InDom {
		p.warn("Metric: %s (%v): indom: %s: No change", s.oldName, s.old.PMID, indomText(to))
		return nil
	}
	switch c.output.pick {
	case pickMin, pickMax, pickSum, pickAvg:
		if !numeric(s.old.Type) {
			return p.errorf("OUTPUT option MIN, MAX, AVG or SUM requires type to be numeric, not PM_TYPE_%s", s.old.Type)
		}
	case pickAll:
		if c.none || s.old.InDom == pdu.NoInDom {
			c.output.pick = pickFirst
		}
	}
	s.new.InDom, s.indom, s.output = to, true, c.output
	return nil
}

// indomText formats an instance domain as pmlogrewrite does.
func indomText(d pdu.InDom) string {
	if d == pdu.NoInDom {
		return "PM_INDOM_NULL"
	}
	return d.String()
}

// semText formats semantics as pmlogrewrite does.
func semText(s pdu.Sem) string {
	switch s {
	case pdu.SemCounter:
		return "counter"
	case pdu.SemInstant:
		return "instant"
	case pdu.SemDiscrete:
		return "discrete"
	}
	return "unknown"
}
