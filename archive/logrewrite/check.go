package logrewrite

import (
	"slices"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// Check checks all rules together and adds the changes that follow from them: metrics follow their
// instance domain, help texts and labels their metric or instance domain. Call it after the last
// Add. The error is an *Error.
func (p *Plan) Check() error {
	for _, check := range [...]func() error{
		p.checkMetrics, p.checkInDomTexts, p.checkMetricTexts, p.checkInDomLabels, p.checkMetricLabels,
		p.checkInstances, p.checkOutputs, p.checkInDoms,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkMetrics makes metrics follow their instance domains.
func (p *Plan) checkMetrics() error {
	for _, m := range p.metricOrder {
		d := p.byInDom[m.InDom]
		if d == nil || !d.changes() {
			continue
		}
		s := p.metricSpec(m.PMID)
		if s == nil {
			continue
		}
		if d.changesInsts() {
			s.insts = d
		}
		if !d.moved {
			continue
		}
		if s.indom && s.new.InDom != d.new {
			return p.semantic("Conflicting indom change for metric %s (%s from metric clause, %v from indom clause)", s.oldName, indomText(s.new.InDom), d.new)
		}
		s.new.InDom, s.indom = d.new, true
	}
	return nil
}

// checkInDomTexts makes help texts follow their instance domains.
func (p *Plan) checkInDomTexts() error {
	for _, d := range slices.Backward(p.indoms) {
		if !d.moved {
			continue
		}
		for _, t := range p.textOrder {
			if t.Kind&pdu.TextInDom == 0 || t.Ident != uint32(d.old) {
				continue
			}
			s := p.textSpec(t, "")
			if s.moved && s.ident != uint32(d.new) {
				return p.semantic("Conflicting indom change for help text (%v from text clause, %v from indom clause)", pdu.InDom(s.ident), d.new)
			}
			s.ident, s.moved = uint32(d.new), true
		}
	}
	return nil
}

// checkMetricTexts makes help texts follow their metrics.
func (p *Plan) checkMetricTexts() error {
	for _, m := range slices.Backward(p.metrics) {
		if !m.pmid {
			continue
		}
		for _, t := range p.textOrder {
			if t.Kind&pdu.TextPMID == 0 || t.Ident != uint32(m.old.PMID) {
				continue
			}
			s := p.textSpec(t, "")
			if s.moved && s.ident != uint32(m.new.PMID) {
				return p.semantic("Conflicting pmid change for help text (%v from text clause, %v from pmid clause)", pdu.PMID(s.ident), m.new.PMID)
			}
			s.ident, s.moved = uint32(m.new.PMID), true
		}
	}
	return nil
}

// checkInDomLabels makes labels follow their instance domains.
func (p *Plan) checkInDomLabels() error {
	for _, d := range slices.Backward(p.indoms) {
		if !d.moved {
			continue
		}
		for _, key := range p.labelOrder {
			if key.class != pdu.LabelInDom && key.class != pdu.LabelInstances || key.ident != uint32(d.old) {
				continue
			}
			for _, inst := range labeled(p.meta.Labels(key.class, key.ident)) {
				s := p.labelSpec(key, inst, nil, "")
				if s.moved && s.ident != uint32(d.new) {
					return p.semantic("Conflicting indom change for label set (%v from text clause, %v from indom clause)", pdu.InDom(s.ident), d.new)
				}
				s.ident, s.moved = uint32(d.new), true
			}
		}
	}
	return nil
}

// labeled returns the instances that have a label set in l.
func labeled(l *archive.Labels) (all []pdu.InstID) {
	if l == nil {
		return nil
	}
	seen := map[pdu.InstID]bool{}
	for i := l.Len() - 1; i >= 0; i-- {
		for _, set := range l.Record(i).Sets {
			if !seen[set.Inst] {
				seen[set.Inst] = true
				all = append(all, set.Inst)
			}
		}
	}
	return all
}

// checkMetricLabels makes labels follow their metrics. The labels of a domain follow the metrics
// that leave it, which must all move to one domain.
func (p *Plan) checkMetricLabels() error {
	for _, m := range slices.Backward(p.metrics) {
		if !m.pmid {
			continue
		}
		for _, key := range p.labelOrder {
			var to uint32
			switch {
			case key.class == pdu.LabelDomain && key.ident == uint32(m.old.PMID)>>22 && key.ident != uint32(m.new.PMID)>>22:
				to = uint32(m.new.PMID) >> 22
			case key.class == pdu.LabelItem && key.ident == uint32(m.old.PMID):
				to = uint32(m.new.PMID)
			default:
				continue
			}
			s := p.labelSpec(key, pdu.NoInst, nil, "")
			if s.moved && s.ident != to {
				return p.semantic("Conflicting pmid change for help label (%v from label clause, %v from pmid clause)", pdu.PMID(s.ident), m.new.PMID)
			}
			s.ident, s.moved = to, true
		}
	}
	return nil
}

// checkInstances checks that no two instances of a domain get the same name or identifier.
func (p *Plan) checkInstances() error {
	for _, d := range slices.Backward(p.indoms) {
		if !d.changesInsts() {
			continue
		}
		byID, byName := map[pdu.InstID]*instSpec{}, map[string]*instSpec{}
		for i := range d.insts {
			byID[d.insts[i].new.ID], byName[firstWord(d.insts[i].new.Name)] = nil, nil
		}
		for i := range d.insts {
			a := &d.insts[i]
			if b := byID[a.new.ID]; b != nil && (a.renumed || b.renumed) {
				return p.semantic("Duplicate instance id %d (\"%s\" and \"%s\") for indom %v", a.new.ID, b.new.Name, a.new.Name, d.old)
			}
			if b := byName[firstWord(a.new.Name)]; b != nil && (a.renamed || b.renamed) {
				return p.semantic("Duplicate instance name \"%s\" (%d) and \"%s\" (%d) for indom %v", b.new.Name, b.new.ID, a.new.Name, a.new.ID, d.old)
			}
			byID[a.new.ID], byName[firstWord(a.new.Name)] = a, a
		}
	}
	return nil
}

// checkOutputs finds the instances whose values are kept, and the instances that get them. Rules
// use the names and identifiers before the rewrite for both.
func (p *Plan) checkOutputs() error {
	for _, m := range slices.Backward(p.metrics) {
		if !m.indom || m.output.pick != pickInstance && m.output.pick != pickFirst {
			continue
		}
		inst := &m.output.instance
		if m.output.pick == pickFirst {
			inst = &instancePattern{by: byID}
		} else if old := p.meta.InDom(m.old.InDom); old != nil {
			p.resolve(inst, p.instancesOf(m.old.InDom, false), "old", m.old.InDom)
		}
		if m.new.InDom != pdu.NoInDom && p.written(m.new.InDom) {
			m.outputInst = p.resolve(inst, p.instancesOf(m.new.InDom, true), "new", m.new.InDom)
		}
	}
	return nil
}

// instancesOf returns the instances of a domain in the archive. With renumbered it adds those of
// domains that move to it.
func (p *Plan) instancesOf(id pdu.InDom, renumbered bool) (all []instSpec) {
	if renumbered {
		for _, s := range p.indoms {
			if s.moved && s.new == id {
				all = append(all, s.insts...)
			}
		}
	}
	if s := p.byInDom[id]; s != nil {
		return append(all, s.insts...)
	}
	if d := p.meta.InDom(id); d != nil {
		for _, i := range allInstances(d) {
			all = append(all, instSpec{old: i, new: i})
		}
	}
	return all
}

// resolve finds an instance and returns its new identifier. It warns of an unknown instance.
func (p *Plan) resolve(inst *instancePattern, of []instSpec, which string, d pdu.InDom) pdu.InstID {
	for _, i := range of {
		if i.deleted && which == "new" {
			continue
		}
		if inst.by == byName && sameInstance(inst.name, i.old.Name) || inst.by == byID && inst.id == i.old.ID {
			inst.by, inst.id = byID, i.old.ID
			return i.new.ID
		}
	}
	if inst.by == byName {
		p.warn("Instance \"%s\" from OUTPUT clause not found in %s indom %v", inst.name, which, d)
	} else {
		p.warn("Instance %d from OUTPUT clause not found in %s indom %v", inst.id, which, d)
	}
	return inst.id
}

// checkInDoms checks that metrics, texts and labels move only to known instance domains.
func (p *Plan) checkInDoms() error {
	for _, m := range slices.Backward(p.metrics) {
		if m.indom && m.new.InDom != pdu.NoInDom && !p.written(m.new.InDom) {
			return p.semantic("New indom (%v) for metric %s is not in the output archive", m.new.InDom, m.oldName)
		}
	}
	for _, t := range slices.Backward(p.texts) {
		if t.moved && t.old.Kind&pdu.TextInDom != 0 && !p.written(pdu.InDom(t.ident)) {
			return p.semantic("New indom (%v) for help text is not in the output archive", pdu.InDom(t.ident))
		}
	}
	for _, l := range slices.Backward(p.labels) {
		if l.moved && (l.key.class == pdu.LabelInDom || l.key.class == pdu.LabelInstances) && !p.written(pdu.InDom(l.ident)) {
			return p.semantic("New indom (%v) for label set InDom %v is not in the output archive", pdu.InDom(l.ident), pdu.InDom(l.ident))
		}
	}
	return nil
}

// written reports whether the input or the output has the instance domain.
func (p *Plan) written(id pdu.InDom) bool {
	return p.meta.InDom(id) != nil || slices.ContainsFunc(p.indoms, func(s *indomSpec) bool { return s.moved && s.new == id })
}
