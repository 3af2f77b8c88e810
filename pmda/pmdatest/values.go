package pmdatest

import (
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// checkFetch fetches all metrics at once and one by one, with unknown ones among
// them.
func (c *checker) checkFetch() {
	all := c.ids()
	if r := c.fetch(nil, all); r != nil {
		for i, m := range c.metrics {
			c.checkSet(m, r.At(i), nil)
		}
	}
	for _, m := range c.metrics {
		if r := c.fetch(nil, []pdu.PMID{m.desc.PMID}); r != nil {
			c.checkSet(m, r.At(0), nil)
		}
	}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	c.fetch(nil, append(reversed, all...)) // a client may fetch a metric twice

	var mixed []pdu.PMID
	unknown := c.unknownPMIDs()
	for _, id := range unknown {
		mixed = append(append(mixed, id), all...)
	}
	if r := c.fetch(nil, mixed); r != nil {
		for _, s := range r.All() {
			if slices.Contains(unknown, s.PMID) {
				c.wantCode(s.Err(), pdu.ErrPMID, "Fetch: the set of the unknown metric %v", s.PMID)
			}
		}
	}
}

// ids are the PMIDs of all metrics.
func (c *checker) ids() []pdu.PMID {
	ids := make([]pdu.PMID, len(c.metrics))
	for i, m := range c.metrics {
		ids[i] = m.desc.PMID
	}
	return ids
}

// fetch fetches metrics and checks the form of the result; nil if there is none. No
// collector fetches an empty list.
func (c *checker) fetch(p *pdu.Profile, ids []pdu.PMID) *pdu.Result {
	if len(ids) == 0 {
		return nil
	}
	list := slices.Clone(ids)
	var before *pdu.Profile
	if p != nil {
		before = p.Clone()
	}
	var w pdu.ResultWriter
	err := c.h.Fetch(c.ctx, request(0, p), list, &w)
	if !slices.Equal(list, ids) {
		c.errorf("Fetch: it has changed the list of PMIDs %v into %v", ids, list)
	}
	if p != nil && !equalProfiles(*p, *before) {
		c.errorf("Fetch: it has changed the profile %v into %v", *before, *p)
	}
	for i := range list {
		list[i] = pdu.NoPMID // the Handler must not use it any more
	}
	if err != nil {
		c.errorf("Fetch of %d metrics: %s: it fails only if every metric fails; a set can fail alone", len(ids), errorText(err))
		return nil
	}
	if w.Len() != len(ids) {
		c.errorf("Fetch of %d metrics: %d sets: there must be one for each", len(ids), w.Len())
		return nil
	}
	var r *pdu.Result
	for _, f := range []pdu.Format{pdu.FormatHighRes, pdu.FormatLowRes} {
		if r = c.decode(&w, f); r == nil {
			return nil
		}
	}
	for i, s := range r.All() {
		if s.PMID != ids[i] {
			c.errorf("Fetch: set %d is of %v, want %v: sets come in the order of the request", i, s.PMID, ids[i])
			return nil
		}
	}
	return r
}

// decode encodes a result and reads it again.
func (c *checker) decode(w *pdu.ResultWriter, f pdu.Format) *pdu.Result {
	b, err := w.Append(make([]byte, pdu.HeaderLen), f)
	if err != nil {
		c.errorf("Fetch: the result cannot be sent as %v: %v", f.Kind(), err)
		return nil
	}
	r := &pdu.Result{Format: f}
	if err = r.Decode(b[pdu.HeaderLen:]); err == nil {
		err = r.Validate()
	}
	if err != nil {
		c.errorf("Fetch: the result is not valid as %v: %v", f.Kind(), err)
		return nil
	}
	return r
}

func equalProfiles(a, b pdu.Profile) bool {
	return a.Exclude == b.Exclude && slices.EqualFunc(a.InDoms, b.InDoms, func(a, b pdu.InDomProfile) bool {
		return a.InDom == b.InDom && a.Exclude == b.Exclude && slices.Equal(a.Insts, b.Insts)
	})
}

// checkSet checks the values of a metric.
func (c *checker) checkSet(m metric, s pdu.ValueSet, p *pdu.Profile) {
	if err := s.Err(); err != nil {
		if pdu.FromError(err) == pdu.ErrPMID {
			c.errorf("%s: Fetch: %s, but it has a descriptor", m.name, errorText(err))
		}
		c.legal(err, "%s: Fetch", m.name)
		return
	}
	if m.desc.Type == pdu.TypeNoSupport && s.Len() > 0 {
		c.errorf("%s: Fetch: values of a metric that is not supported", m.name)
		return
	}
	seen := map[pdu.InstID]bool{}
	for id, a := range s.All(m.desc.Type) {
		if seen[id] {
			c.errorf("%s: Fetch: two values of instance %d", m.name, id)
		}
		seen[id] = true
		c.checkInst(m, id, p)
		c.checkAtom(m, id, a)
	}
}

// checkInst checks whether a metric may have a value of an instance.
func (c *checker) checkInst(m metric, id pdu.InstID, p *pdu.Profile) {
	if m.desc.InDom == pdu.NoInDom {
		if id != pdu.NoInst {
			c.errorf("%s: Fetch: a value of instance %d, but the metric is singular", m.name, id)
		}
		return
	}
	if !p.Includes(m.desc.InDom, id) {
		c.errorf("%s: Fetch: a value of instance %d, which the profile excludes", m.name, id)
	}
	if c.changing {
		return
	}
	for _, d := range c.indoms {
		if d.id == m.desc.InDom && !d.has(id) {
			c.errorf("%s: Fetch: a value of instance %d, which Instances(%v) does not list", m.name, id, d.id)
		}
	}
}

// checkAtom checks whether a value is of its metric's type.
func (c *checker) checkAtom(m metric, id pdu.InstID, a pdu.Atom) {
	static := a.Type == pdu.TypeAggregateStatic || a.Type == pdu.TypeAggregate
	switch want := m.desc.Type; {
	case a.Type == want:
	case static && (want == pdu.TypeAggregateStatic || want == pdu.TypeAggregate):
	case a.Type == pdu.TypeUnknown:
		c.errorf("%s: Fetch: the value of instance %d is of another type than the descriptor's %v", m.name, id, want)
		return
	default:
		c.errorf("%s: Fetch: the value of instance %d has type %v, the descriptor %v", m.name, id, a.Type, want)
		return
	}
	if a.Type == pdu.TypeEvent || a.Type == pdu.TypeHighResEvent {
		if _, err := a.Events(); err != nil {
			c.errorf("%s: Fetch: the value of instance %d: %v", m.name, id, err)
		}
	}
}

// checkProfile fetches nothing, one instance and all but one of every domain.
func (c *checker) checkProfile() {
	for _, d := range c.indoms {
		if len(d.list) == 0 {
			continue
		}
		one := d.list[len(d.list)/2].ID
		for _, p := range []*pdu.Profile{
			{InDoms: []pdu.InDomProfile{{InDom: d.id, Exclude: true}}},
			{Exclude: true, InDoms: []pdu.InDomProfile{{InDom: d.id, Exclude: true, Insts: []pdu.InstID{one}}}},
			{InDoms: []pdu.InDomProfile{{InDom: d.id, Insts: []pdu.InstID{one}}}},
		} {
			if r := c.fetch(p, c.ids()); r != nil {
				for i, m := range c.metrics {
					c.checkSet(m, r.At(i), p)
				}
			}
			if list, err := c.h.Instances(c.ctx, request(0, p), d.id, pdu.NoInst, ""); err != nil || !c.changing && len(list) != len(d.list) {
				c.errorf("Instances(%v) with a profile: %d of %d (%s): it is for fetches and labels", d.id, len(list), len(d.list), errorText(err))
			}
		}
	}
	p := &pdu.Profile{Exclude: true}
	if r := c.fetch(p, c.ids()); r != nil {
		for i, m := range c.metrics {
			c.checkSet(m, r.At(i), p)
		}
	}
}
