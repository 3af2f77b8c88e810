package pmdatest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// checkLabels requests all labels.
func (c *checker) checkLabels() {
	domain := c.labels(pdu.LabelsOfDomain(c.info.Domain), nil)
	c.labels(pdu.LabelsOfContext(), nil)
	inDom := map[pdu.InDom][]pdu.LabelSet{}
	insts := map[pdu.InDom][]pdu.LabelSet{}
	for _, d := range c.indoms {
		inDom[d.id] = c.labels(pdu.LabelsOfInDom(d.id), nil)
		insts[d.id] = c.instanceLabels(d, nil)
		if len(d.list) > 0 {
			one := []pdu.InstID{d.list[0].ID}
			c.instanceLabels(d, &pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{{InDom: d.id, Exclude: true, Insts: one}}})
			c.instanceLabels(d, &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: d.id, Insts: one}}})
		}
	}
	for _, m := range c.metrics {
		cluster := c.labels(pdu.LabelsOfCluster(m.desc.PMID), nil)
		item := c.labels(pdu.LabelsOfItem(m.desc.PMID), nil)
		c.mergeLabels(m, slices.Concat(domain, inDom[m.desc.InDom], cluster, item), insts[m.desc.InDom])
	}
	for _, id := range c.unknownPMIDs() {
		_, _ = c.h.Labels(c.ctx, request(0, nil), pdu.LabelsOfItem(id)) // any reply is allowed
	}
	none := c.unknownInDom()
	if sets, err := c.h.Labels(c.ctx, request(0, nil), pdu.LabelsOfInstances(none)); err == nil && len(sets) > 0 {
		c.errorf("Labels(%v, instances): %d sets, but no metric has that domain", none, len(sets))
	}
}

// mergeLabels merges the labels of all classes as clients do for each value.
func (c *checker) mergeLabels(m metric, sets, insts []pdu.LabelSet) {
	if len(insts) == 0 {
		insts = []pdu.LabelSet{{Inst: pdu.NoInst}}
	}
	for _, s := range insts {
		if _, err := pdu.MergeLabels(nil, append(slices.Clip(sets), s)...); err != nil {
			c.errorf("%s: Labels: all labels of instance %d together: %v", m.name, s.Inst, err)
			return // other instances are likely to fail in the same way
		}
	}
}

// labels requests the labels of a target and checks every set.
func (c *checker) labels(of pdu.LabelTarget, p *pdu.Profile) []pdu.LabelSet {
	sets, err := c.h.Labels(c.ctx, request(0, p), of)
	if err == errReported {
		return nil
	}
	if err != nil && of.Class == pdu.LabelInstances && c.mayFailInDom(of.InDom()) {
		return nil
	}
	if err != nil {
		c.errorf("Labels(%v): %s; without labels there is no set", of, errorText(err))
		return nil
	}
	if of.Class != pdu.LabelInstances && len(sets) > 1 {
		c.errorf("Labels(%v): %d sets, want at most one", of, len(sets))
	}
	for _, s := range sets {
		if of.Class != pdu.LabelInstances && s.Inst != pdu.NoInst {
			c.errorf("Labels(%v): Inst is %d, want pdu.NoInst", of, s.Inst)
		}
		c.checkLabelSet(of, s)
	}
	if _, err := (pdu.LabelReply{Ident: of.Request().Ident, Class: of.Class, Sets: sets}).Append(make([]byte, pdu.HeaderLen)); err != nil {
		c.errorf("Labels(%v): the sets cannot be sent: %v", of, err)
	}
	c.sameLabels(of, p, sets)
	return sets
}

// sameLabels requests labels again, and compares.
func (c *checker) sameLabels(of pdu.LabelTarget, p *pdu.Profile, sets []pdu.LabelSet) {
	if c.changing {
		return
	}
	before := slices.Clone(sets)
	for i := range before {
		before[i].JSON = bytes.Clone(before[i].JSON)
	}
	again, err := c.h.Labels(c.ctx, request(0, p), of)
	if err == errReported {
		return
	}
	if !slices.EqualFunc(before, again, func(a, b pdu.LabelSet) bool {
		return a.Inst == b.Inst && a.Err == b.Err && bytes.Equal(a.JSON, b.JSON)
	}) {
		c.errorf("Labels(%v): %v, then %v (%s): labels that change are told by pdu.ChangeLabels", of, before, again, errorText(err))
	}
}

// checkLabelSet parses the text of a set, and compares the result with the set's index.
func (c *checker) checkLabelSet(of pdu.LabelTarget, s pdu.LabelSet) {
	if s.Err != 0 {
		if s.Err > 0 || len(s.Labels) > 0 {
			c.errorf("Labels(%v): a set with error %d and %d labels", of, int32(s.Err), len(s.Labels))
		} else {
			c.errorf("Labels(%v): the set of instance %d is error %d (%v): its labels are no valid JSON object; the log has more", of, s.Inst, int32(s.Err), s.Err)
		}
		return
	}
	want, err := pdu.ParseLabels(of.Class, string(s.JSON), false)
	if err = cmp.Or(err, pdu.CheckLabelNames(string(s.JSON))); err != nil {
		c.errorf("Labels(%v): instance %d: %q: %v", of, s.Inst, s.JSON, err)
		return
	}
	if len(want.Labels) != len(s.Labels) {
		c.errorf("Labels(%v): %q has %d labels, the index %d: make sets with pdu.ParseLabels", of, s.JSON, len(want.Labels), len(s.Labels))
		return
	}
	for _, l := range s.Labels {
		const rest = pdu.LabelCompound | pdu.LabelOptional
		if l.Flags&^rest != pdu.LabelFlags(of.Class) {
			c.errorf("Labels(%v): %q: a label has flags %#x, want the class", of, s.JSON, uint8(l.Flags))
		}
	}
	for i, l := range want.Labels {
		if got, want := labelText(s, s.Labels[i]), labelText(want, l); got != want {
			c.errorf("Labels(%v): label %d of %q in order of names is at %s, the index says %s", of, i, s.JSON, want, got)
		}
	}
}

// labelText returns the parts of the JSON text that a label's index refers to: the end of its
// name, and its value.
func labelText(s pdu.LabelSet, l pdu.Label) string {
	name, value := int(l.NameOff), int(l.ValueOff)
	if name+int(l.NameLen) > len(s.JSON) || value+int(l.ValueLen) > len(s.JSON) {
		return "nothing: it is outside"
	}
	return string(s.JSON[name:name+int(l.NameLen)]) + ": " + string(s.JSON[value:value+int(l.ValueLen)])
}

// instanceLabels requests the labels of the instances of a domain.
func (c *checker) instanceLabels(d indom, p *pdu.Profile) []pdu.LabelSet {
	seen := map[pdu.InstID]bool{}
	sets := c.labels(pdu.LabelsOfInstances(d.id), p)
	for _, s := range sets {
		switch {
		case seen[s.Inst]:
			c.errorf("Labels(%v, instances): two sets of instance %d", d.id, s.Inst)
		case !c.changing && !d.has(s.Inst):
			c.errorf("Labels(%v, instances): a set of instance %d, which is not listed", d.id, s.Inst)
		case !p.Includes(d.id, s.Inst):
			c.errorf("Labels(%v, instances): a set of instance %d, which the profile excludes", d.id, s.Inst)
		}
		seen[s.Inst] = true
	}
	return sets
}
