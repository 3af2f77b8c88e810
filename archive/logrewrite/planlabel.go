package logrewrite

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/pcp-go/pcp/pdu"
)

// A labelSpec is the changes to labels.
type labelSpec struct {
	key      labelKey
	inst     pdu.InstID // pdu.NoInst means all
	label    *string    // nil means all
	value    string     // empty means all
	ident    uint32     // their new identifier
	newInst  pdu.InstID
	newLabel string
	newValue string
	added    pdu.LabelSet // new labels

	moved, instMoved, renamed, revalued, extended bool
	deleted                                       bool
	active                                        bool
}

func (s *labelSpec) changes() bool {
	return s.moved || s.instMoved || s.renamed || s.revalued || s.extended || s.deleted
}

// of names the subject of the labels in messages.
func (s *labelSpec) of() string {
	switch id := s.key.ident; s.key.class {
	case pdu.LabelContext:
		return "context label"
	case pdu.LabelDomain:
		return "label for domain 0" // as the C program has it
	case pdu.LabelCluster:
		return "label for cluster " + clusterText(id)
	case pdu.LabelItem:
		return "label for metric " + pdu.PMID(id).String()
	case pdu.LabelInDom:
		return "label for indom " + pdu.InDom(id).String()
	}
	return "label for the instances of indom " + pdu.InDom(s.key.ident).String()
}

func clusterText(ident uint32) string {
	id := pdu.PMID(ident)
	return fmt.Sprintf("%d.%d", ident>>22&511, id.Cluster())
}

// place names the subject of the labels in warnings. value says whether the clause changes values
// or names. For values, the C program reports contexts and domains as clusters, too.
func (s *labelSpec) place(value bool) string {
	switch id := s.key.ident; {
	case s.key.class == pdu.LabelContext && !value:
		return "context"
	case s.key.class == pdu.LabelDomain && !value:
		return fmt.Sprintf("domain %d", id)
	case s.key.class == pdu.LabelItem:
		return "metric " + pdu.PMID(id).String()
	case s.key.class == pdu.LabelInDom:
		return "instance domain " + pdu.InDom(id).String()
	case s.key.class == pdu.LabelInstances:
		return "instances of instance domain " + pdu.InDom(id).String()
	}
	return "cluster " + clusterText(s.key.ident)
}

// beginLabels begins a rule for labels.
func (p *Plan) beginLabels(of labelTarget) func(change) error {
	p.deactivateLabels()
	keys := p.labelKeys(of)
	for _, key := range keys {
		inst := pdu.NoInst
		switch of.instance.by {
		case byID:
			inst = of.instance.id
		case byName:
			var ok bool
			if inst, ok = p.instanceNamed(pdu.InDom(key.ident), of.instance.name); !ok {
				p.warn("Instance domain %v: no instance \"%s\" found", pdu.InDom(key.ident), of.instance.name)
				continue
			}
		}
		var label *string
		if of.named || of.name != "" {
			label = &of.name
		}
		p.labelSpec(key, inst, label, of.value).active = true
	}
	return func(c change) error {
		if n, ok := c.(addLabel); ok {
			return p.newLabels(of, n)
		}
		return p.changeLabels(c)
	}
}

func (p *Plan) deactivateLabels() {
	for _, s := range p.labels {
		s.active = false
	}
}

// labelKeys returns the subjects of labels in the archive that a rule selects.
func (p *Plan) labelKeys(of labelTarget) (keys []labelKey) {
	var ids []pdu.PMID
	byID := of.metric.name != "" || of.metric.id.one()
	if of.class == pdu.LabelItem && byID {
		ids = p.find(of.metric)
	}
	for _, key := range p.labelOrder {
		if key.class != of.class {
			continue
		}
		match := false
		switch of.class {
		case pdu.LabelContext:
			match = true
		case pdu.LabelDomain:
			match = int(key.ident) == of.metric.id.domain
		case pdu.LabelCluster:
			match = pmidPattern{of.metric.id.domain, of.metric.id.cluster, anyNumber}.matches(pdu.PMID(key.ident))
		case pdu.LabelItem:
			match = byID && slices.Contains(ids, pdu.PMID(key.ident)) || !byID && of.metric.id.matches(pdu.PMID(key.ident))
		default:
			match = of.indom.id.matches(pdu.InDom(key.ident))
		}
		if match {
			keys = append(keys, key)
		}
	}
	return keys
}

// instanceNamed returns the instance of a domain with the given name.
func (p *Plan) instanceNamed(id pdu.InDom, name string) (pdu.InstID, bool) {
	if d := p.meta.InDom(id); d != nil {
		for _, i := range allInstances(d) {
			if sameInstance(i.Name, name) {
				return i.ID, true
			}
		}
	}
	return 0, false
}

// labelSpec returns the latest spec that matches all given arguments, even if it selects fewer
// labels, or else a new one. The order of rules has the same effect in pmlogrewrite.
func (p *Plan) labelSpec(key labelKey, inst pdu.InstID, label *string, value string) *labelSpec {
	for _, s := range slices.Backward(p.labels) {
		if s.key == key && (inst == pdu.NoInst || s.inst == inst) &&
			(label == nil || s.label != nil && *s.label == *label) && (value == "" || s.value == value) {
			return s
		}
	}
	return p.appendLabelSpec(&labelSpec{key: key, inst: inst, label: label, value: value})
}

func (p *Plan) appendLabelSpec(s *labelSpec) *labelSpec {
	s.ident, s.newInst = s.key.ident, s.inst
	p.labels = append(p.labels, s)
	return s
}

// newLabelSpec returns the spec of all labels of a subject, for a label that is added to them.
func (p *Plan) newLabelSpec(key labelKey, inst pdu.InstID) *labelSpec {
	for _, s := range slices.Backward(p.labels) {
		if s.key == key && s.inst == inst && s.label == nil && s.value == "" {
			return s
		}
	}
	return p.appendLabelSpec(&labelSpec{key: key, inst: inst})
}

// changeLabels applies a change to the labels of the current rule.
func (p *Plan) changeLabels(c change) error {
	for _, s := range slices.Backward(p.labels) {
		if s.active {
			if err := p.changeLabel(s, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxLabelName is the maximum length of a label name in a label set.
const maxLabelName = 255

func (p *Plan) changeLabel(s *labelSpec, c change) error {
	switch c := c.(type) {
	case deletion:
		if s.deleted {
			return p.errorf("Duplicate delete clause for %s", s.of())
		}
		if s.changes() {
			return p.errorf("Conflicting delete and other clauses for %s", s.of())
		}
		s.deleted = true
	case renameLabel:
		if err := p.onceFor(s.renamed, s.deleted, "label", s.of()); err != nil {
			return err
		}
		if len(c.name) > maxLabelName {
			return p.errorf("Label name of %d characters, limit %d", len(c.name), maxLabelName)
		}
		if s.label != nil && *s.label == c.name {
			p.warn("Label for %s: label: No change", s.place(false))
			return nil
		}
		s.newLabel, s.renamed = c.name, true
	case setLabelValue:
		if err := p.onceFor(s.revalued, s.deleted, "value", s.of()); err != nil {
			return err
		}
		if s.value == c.value {
			p.warn("Label for %s: value: No change", s.place(true))
			return nil
		}
		s.newValue, s.revalued = c.value, true
	default:
		return p.moveLabel(s, c)
	}
	return nil
}

// moveLabel changes the subject of labels.
func (p *Plan) moveLabel(s *labelSpec, c change) error {
	if err := p.onceFor(s.moved, s.deleted, "id", s.of()); err != nil {
		return err
	}
	id := s.key.ident
	same := ""
	switch c := c.(type) {
	case moveInstance:
		if s.key.class != pdu.LabelInstances {
			return p.wrong(c)
		}
		if s.inst == c.to {
			p.warn("Label for instance domain %v instance %d: instance: No change", pdu.InDom(id), c.to)
			return nil
		}
		s.newInst, s.instMoved = c.to, true
		return nil
	case moveInDom:
		if s.key.class != pdu.LabelInDom && s.key.class != pdu.LabelInstances {
			return p.wrong(c)
		}
		id, same = uint32(c.to.of(pdu.InDom(id))), fmt.Sprintf("Label for instance domain %v: indom: No change", pdu.InDom(id))
	case setPMID:
		switch s.key.class {
		case pdu.LabelDomain:
			id, same = uint32(c.to.domain), fmt.Sprintf("Label for metric domain: %d: No change", id)
		case pdu.LabelCluster:
			to := pmidPattern{c.to.domain, c.to.cluster, 0}
			id, same = uint32(to.of(pdu.PMID(id))), fmt.Sprintf("Label for cluster: %s: No change", clusterText(id))
		case pdu.LabelItem:
			id, same = uint32(c.to.of(pdu.PMID(id))), fmt.Sprintf("Label for metric: %v: item: No change", pdu.PMID(id))
		default:
			return p.wrong(c)
		}
	default:
		return p.wrong(c)
	}
	if id == s.key.ident && s.key.class != pdu.LabelCluster {
		p.warn("%s", same)
		return nil
	}
	s.ident, s.moved = id, true
	return nil
}

// newLabels applies a change that adds a label.
func (p *Plan) newLabels(of labelTarget, c addLabel) error {
	if of.named || of.name != "" || of.value != "" {
		p.always("The target label name and value must both not be specified for a NEW label and will be ignored")
	}
	text := fmt.Sprintf("{\"%s\":%s}", c.name, c.value)
	specs := p.newTargets(of)
	if len(specs) == 0 && of.class != pdu.LabelContext {
		p.always("No matching %s for new label %s", newTargetText(of.class), text)
	}
	for _, s := range slices.Backward(p.labels) {
		if s.active && s.deleted {
			return p.errorf("Conflicting active clause for deleted %s", s.of())
		}
	}
	for _, s := range specs {
		set, err := pdu.ParseLabels(of.class, text, false)
		if err == nil {
			inst := s.inst
			s.added, err = pdu.MergeLabels(nil, s.added, set)
			s.added.Inst = inst
		}
		if err != nil {
			return p.errorf("Unable to add new %s label %s: %v", newErrorText(of.class), text, causeText(err))
		}
		s.extended = true
	}
	return nil
}

// causeText returns PCP's text for an error of package pdu's label functions.
func causeText(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return pdu.FromError(errno).Error()
	}
	return err.Error()
}

func newTargetText(c pdu.LabelClass) string {
	switch c {
	case pdu.LabelDomain:
		return "domain"
	case pdu.LabelCluster:
		return "cluster"
	case pdu.LabelItem:
		return "metric"
	case pdu.LabelInDom:
		return "indom"
	}
	return "indom instance"
}

func newErrorText(c pdu.LabelClass) string {
	switch c {
	case pdu.LabelContext:
		return "context"
	case pdu.LabelItem:
		return "metric item"
	}
	return newTargetText(c)
}

// newTargets returns the specs of all subjects that get a new label. Metrics and instances need not
// have labels yet.
func (p *Plan) newTargets(of labelTarget) (specs []*labelSpec) {
	add := func(ident uint32, inst pdu.InstID) {
		if s := p.newLabelSpec(labelKey{of.class, ident}, inst); !slices.Contains(specs, s) {
			specs = append(specs, s)
		}
	}
	switch of.class {
	case pdu.LabelContext:
		add(uint32(pdu.NoPMID), pdu.NoInst)
	case pdu.LabelInDom, pdu.LabelInstances:
		for _, d := range p.indomOrder {
			if !of.indom.id.matches(d.ID) {
				continue
			}
			if of.class == pdu.LabelInDom {
				add(uint32(d.ID), pdu.NoInst)
				continue
			}
			for _, i := range allInstances(d) {
				if of.instance.by == byNothing || of.instance.by == byID && of.instance.id == i.ID ||
					of.instance.by == byName && sameInstance(of.instance.name, i.Name) {
					add(uint32(d.ID), i.ID)
				}
			}
		}
	default:
		p.newMetricTargets(of, add)
	}
	return specs
}

// newMetricTargets calls add for the metrics that a rule selects, or for their domains or clusters.
func (p *Plan) newMetricTargets(of labelTarget, add func(ident uint32, inst pdu.InstID)) {
	named, _ := p.names.Lookup(of.metric.name)
	for _, m := range p.metricOrder {
		if of.metric.name != "" && m.PMID != named || of.metric.name == "" && !of.metric.id.matches(m.PMID) {
			continue
		}
		switch of.class {
		case pdu.LabelDomain:
			add(uint32(of.metric.id.domain), pdu.NoInst)
		case pdu.LabelCluster:
			add(uint32(m.PMID)&^1023, pdu.NoInst)
		default:
			add(uint32(m.PMID), pdu.NoInst)
		}
	}
}
