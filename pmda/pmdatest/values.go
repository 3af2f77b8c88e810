package pmdatest

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// checkFetch fetches all metrics, one by one and together, also with unknown metrics among them.
func (c *checker) checkFetch() {
	var replying []metric
	for _, m := range c.metrics {
		start := time.Now()
		r, err := c.tryFetch(nil, []pdu.PMID{m.desc.PMID})
		c.took[m.name] = time.Since(start)
		if took := c.took[m.name]; took > c.slowest {
			c.slowest, c.slowestName = took, m.name
		}
		if r != nil {
			c.checkSet(m, r.At(0), nil)
			c.fetchMissing(m, r.At(0))
		}
		if err != errReported {
			replying = append(replying, m)
		}
	}
	c.metrics = replying
	all := c.ids()
	if r := c.fetch(nil, all); r != nil {
		for i, m := range c.metrics {
			c.checkSet(m, r.At(i), nil)
		}
	}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	c.fetch(nil, append(reversed, all...)) // a client may fetch a metric twice

	c.fetchInParts()
	c.checkChanged()
	unknown := c.unknownPMIDs()
	mixed := slices.Concat(unknown[:1], all, unknown[1:])
	if r := c.fetch(nil, mixed); r != nil {
		for _, s := range r.All() {
			if slices.Contains(unknown, s.PMID) {
				c.wantCode(s.Err(), pdu.ErrPMID, "Fetch: the set of the unknown metric %v", s.PMID)
			}
		}
	}
}

// fetchInParts fetches with a writer that already has sets, as collectors do for a fetch of very
// many metrics.
func (c *checker) fetchInParts() {
	var w pdu.ResultWriter
	ids := c.ids()
	for i := range ids[:min(3, len(ids))] {
		err := c.h.Fetch(c.ctx, request(0, nil), ids[i:i+1], &w)
		switch {
		case err == nil && w.Len() != i+1:
			c.errorf("%s: Fetch: the writer has %d sets after it, want %d: sets of earlier calls stay, and the new one is added", c.nameOf[ids[i]], w.Len(), i+1)
			return
		case err != nil:
			return // it has been reported
		}
	}
}

// checkChanged checks that not every fetch reports a change, which would make clients read all
// names or labels again each time.
func (c *checker) checkChanged() {
	if len(c.metrics) == 0 || c.changing {
		return
	}
	always := pdu.ChangeLabels | pdu.ChangeNames
	for range 4 {
		var w pdu.ResultWriter
		if err := c.h.Fetch(c.ctx, request(0, nil), c.ids()[:1], &w); err != nil {
			return
		}
		always &= w.Changed
	}
	if always != 0 {
		c.errorf("Fetch: each of 4 tells of a change of %v: clear Changed once clients have been told, or they read all of them again after every fetch", always)
	}
}

// ids returns the PMIDs of all metrics.
func (c *checker) ids() []pdu.PMID {
	ids := make([]pdu.PMID, len(c.metrics))
	for i, m := range c.metrics {
		ids[i] = m.desc.PMID
	}
	return ids
}

// fetchMissing fetches one by one the instances without a value of a metric. If an error has
// prevented the value, the fetch then fails.
func (c *checker) fetchMissing(m metric, s pdu.ValueSet) {
	if s.Err() != nil || c.mayHaveFailed(m) {
		return
	}
	has := instancesOf(s)
	for _, d := range c.indoms {
		if d.id != m.desc.InDom {
			continue
		}
		for _, i := range d.list {
			if has[i.ID] {
				continue
			}
			one := &pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{{InDom: d.id, Exclude: true, Insts: []pdu.InstID{i.ID}}}}
			r := c.fetch(one, []pdu.PMID{m.desc.PMID})
			if r == nil {
				return
			}
			if err := r.At(0).Err(); err != nil {
				c.failedFetch(m, fmt.Sprintf("Fetch of instance %d %q", i.ID, i.Name), err)
				return // others are likely to fail in the same way
			}
		}
	}
}

// mayHaveFailed reports whether a failure of a metric must not be reported, because the metric may
// fail or its failure has been reported.
func (c *checker) mayHaveFailed(m metric) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed[m.name] || m.desc.Type == pdu.TypeNoSupport || c.mayFailAs(m.name)
}

// mayFailAs reports whether MayFail has a metric's name, or one above it.
func (c *checker) mayFailAs(metric string) bool { return isOrBelow(metric, c.mayFail) }

// mayFailInDom reports whether MayFail has all metrics of an instance domain. Then its list may
// fail too.
func (c *checker) mayFailInDom(d pdu.InDom) bool {
	return !slices.ContainsFunc(c.metrics, func(m metric) bool { return m.desc.InDom == d && !c.mayFailAs(m.name) })
}

// failedFetch reports a metric that has an error instead of a value.
func (c *checker) failedFetch(m metric, what string, err error) {
	if c.mayHaveFailed(m) {
		return
	}
	c.mu.Lock()
	c.failed[m.name] = true
	c.mu.Unlock()
	hint := "if it may fail, say so with MayFail"
	if pdu.FromError(err) == pdu.ErrGeneric {
		hint = "a function of it has panicked or returned an error without a code of PCP; the log has it"
	}
	c.errorf("%s: %s: %s: %s", m.name, what, errorText(err), hint)
}

// fetch fetches metrics and checks the form of the result. It returns nil if the fetch failed.
func (c *checker) fetch(p *pdu.Profile, ids []pdu.PMID) *pdu.Result {
	r, _ := c.tryFetch(p, ids)
	return r
}

// tryFetch is like fetch, but also returns the error of the Handler.
func (c *checker) tryFetch(p *pdu.Profile, ids []pdu.PMID) (*pdu.Result, error) {
	return c.fetchFor(request(0, p), ids)
}

// fetchFor is tryFetch for the client of a request. It does nothing for an empty list,
// which collectors do not fetch.
func (c *checker) fetchFor(r *pmda.Request, ids []pdu.PMID) (*pdu.Result, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, p := slices.Clone(ids), r.Profile
	var before *pdu.Profile
	if p != nil {
		before = p.Clone()
	}
	var w pdu.ResultWriter
	err := c.h.Fetch(c.ctx, r, list, &w)
	if err == errReported {
		return nil, err
	}
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
		if !c.allMayFail(ids) {
			c.errorf("%s: %s: it fails only if every metric fails; a set can fail alone", c.h.fetchOf(ids), errorText(err))
		}
		return nil, err
	}
	return c.readFetch(&w, ids), nil
}

// allMayFail reports whether all of some metrics may fail.
func (c *checker) allMayFail(ids []pdu.PMID) bool {
	for _, id := range ids {
		if !c.mayFailAs(c.nameOf[id]) {
			return false
		}
	}
	return true
}

// readFetch reads the result of a fetch. It returns nil if the result is wrong.
func (c *checker) readFetch(w *pdu.ResultWriter, ids []pdu.PMID) *pdu.Result {
	if w.Len() != len(ids) {
		c.errorf("%s: %d sets: there must be one for each", c.h.fetchOf(ids), w.Len())
		return nil
	}
	if more := w.Changed &^ (pdu.ChangeLabels | pdu.ChangeNames); more != 0 {
		c.errorf("Fetch: Changed has %v: an agent tells of labels and names alone", more)
	}
	var r *pdu.Result
	for _, f := range []pdu.Format{pdu.FormatHighRes, pdu.FormatLowRes} {
		if r = c.decode(w, f); r == nil {
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
		if !c.broken(err, "%s: Fetch", m.name) {
			c.failedFetch(m, "Fetch", err)
		}
		return
	}
	if m.desc.Type == pdu.TypeNoSupport && s.Len() > 0 {
		c.errorf("%s: Fetch: values of a metric that is not supported", m.name)
		return
	}
	seen := map[pdu.InstID]bool{}
	for at := range s.Len() {
		id, a := s.Inst(at), s.Atom(at, m.desc.Type)
		if seen[id] {
			c.errorf("%s: Fetch: two values of instance %d", m.name, id)
		}
		seen[id] = true
		c.checkInst(m, id, p)
		if a.Type == pdu.TypeUnknown && s.Atom(at, pdu.TypeUnknown).Type == pdu.Type32 {
			c.errorf("%s: Fetch: the value of instance %d is an integer of 32 bits, the descriptor has type %s", m.name, id, wording.Type(m.desc.Type))
			continue
		}
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
			c.errorf("%s: Fetch: a value of instance %d, which Instances(%v) does not list (if they come and go by themselves, say Changing)", m.name, id, d.id)
		}
	}
}

// checkAtom checks whether a value is of its metric's type.
func (c *checker) checkAtom(m metric, id pdu.InstID, a pdu.Atom) {
	if !sameType(a.Type, m.desc.Type) {
		c.errorf("%s: Fetch: the value of instance %d has type %v, the descriptor %v", m.name, id, a.Type, m.desc.Type)
		return
	}
	if isEvent(a.Type) {
		if _, err := a.Events(); err != nil {
			c.errorf("%s: Fetch: the value of instance %d: %v", m.name, id, err)
		}
	}
}

// checkProfile fetches no instance, one instance, and all except one, of every domain.
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
			c.fetchProfile(p)
			if list, err := c.h.Instances(c.ctx, request(0, p), d.id, pdu.NoInst, ""); err == errReported {
				continue
			} else if err != nil || !c.changing && len(list) != len(d.list) {
				c.errorf("Instances(%v) with a profile: %d of %d (%s): it is for fetches and labels", d.id, len(list), len(d.list), errorText(err))
			}
		}
	}
	c.fetchProfile(&pdu.Profile{Exclude: true})
}

// fetchProfile compares a fetch with a profile and fetches without it.
func (c *checker) fetchProfile(p *pdu.Profile) {
	all, r, again := c.fetch(nil, c.ids()), c.fetch(p, c.ids()), c.fetch(nil, c.ids())
	if r == nil {
		return
	}
	for i, m := range c.metrics {
		c.checkSet(m, r.At(i), p)
		if all != nil && again != nil {
			c.checkSelected(m, all.At(i), r.At(i), again.At(i), p)
		}
	}
}

// checkSelected reports an instance that has no value with the profile, although the profile
// includes it and it has a value without the profile.
func (c *checker) checkSelected(m metric, all, selected, again pdu.ValueSet, p *pdu.Profile) {
	if c.changing || m.desc.InDom == pdu.NoInDom || selected.Err() != nil {
		return
	}
	has, still := instancesOf(selected), instancesOf(again)
	for id := range instancesOf(all) {
		if p.Includes(m.desc.InDom, id) && still[id] && !has[id] {
			c.errorf("%s: Fetch: no value of instance %d, which the profile includes and which has one without it", m.name, id)
		}
	}
}

// instancesOf returns the instances of the values in a set.
func instancesOf(s pdu.ValueSet) map[pdu.InstID]bool {
	ids := map[pdu.InstID]bool{}
	for i := range s.Len() {
		ids[s.Inst(i)] = true
	}
	return ids
}
