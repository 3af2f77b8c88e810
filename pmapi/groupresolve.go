package pmapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A resolvedName is the metric of a name, or the error of its lookup.
type resolvedName struct {
	id   pdu.PMID
	desc pdu.Desc
	err  error
}

// resolve looks up the names that are new or have to be looked up again. Its error is that of a
// request, or the reason why no metric can be resolved.
func (g *Group) resolve(ctx context.Context) error {
	if g.instsChanged {
		g.findInstances()
	}
	if !g.unresolved {
		return nil
	}
	for _, t := range g.trees {
		if err := t.update(ctx); err != nil {
			return err
		}
	}
	resolved, err := g.requestNames(ctx)
	if err != nil {
		return err
	}
	g.unresolved = false
	for _, m := range g.members {
		if b := m.base(); b.unresolved {
			b.setResolved(m, resolved)
		}
	}
	for _, t := range g.trees {
		g.unresolved = g.unresolved || t.expired()
	}
	g.planFetch()
	if len(g.ids) > 0 {
		return nil
	}
	return g.noneResolved()
}

// noneResolved returns the reason why no metric can be resolved. The next Fetch looks up all of
// them again.
func (g *Group) noneResolved() error {
	err := g.Err()
	for _, m := range g.members {
		b := m.base()
		b.unresolved = true
		if err == nil {
			err = b.why // of a metric of a Tree, which Err leaves out; one is enough
		}
	}
	for _, t := range g.trees {
		t.expire()
	}
	g.unresolved = true
	return err
}

// requestNames requests PMIDs and descriptors of the names of all metrics that are not
// resolved, and then the instances of the domains with a selected instance.
func (g *Group) requestNames(ctx context.Context) (map[string]*resolvedName, error) {
	resolved := map[string]*resolvedName{}
	var names []string
	add := func(name string) {
		if resolved[name] == nil {
			resolved[name] = new(resolvedName)
			names = append(names, name)
		}
	}
	for _, m := range g.members {
		if b := m.base(); b.unresolved {
			add(b.name)
			if b.field != "" {
				add(b.field)
			}
		}
	}
	if len(names) == 0 {
		return resolved, nil
	}
	if err := g.lookupNames(ctx, names, resolved); err != nil {
		return nil, err
	}
	if err := g.describeNames(ctx, names, resolved); err != nil {
		return nil, err
	}
	return resolved, g.requestInstances(ctx, resolved)
}

// lookupNames finds the metrics of names.
func (g *Group) lookupNames(ctx context.Context, names []string, resolved map[string]*resolvedName) error {
	ids, errs, err := g.c.lookup(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		resolved[name].id = ids[i]
		resolved[name].err = g.c.failItem("lookup", name, errs.At(i))
	}
	return nil
}

// describeNames requests the descriptors of the names that are known.
func (g *Group) describeNames(ctx context.Context, names []string, resolved map[string]*resolvedName) error {
	var ids []pdu.PMID
	var known []string
	for _, name := range names {
		if a := resolved[name]; a.err == nil {
			ids, known = append(ids, a.id), append(known, name)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	descs, errs, err := g.c.describe(ctx, ids)
	if err != nil {
		return err
	}
	for i, name := range known {
		resolved[name].desc = descs[i]
		resolved[name].err = g.c.failItem("describe", name, errs.At(i))
	}
	return nil
}

// requestInstances requests the instances of domains with a selected instance, once for each
// domain, and the instances of the selected names that are not in their lists.
func (g *Group) requestInstances(ctx context.Context, resolved map[string]*resolvedName) error {
	requested := map[*groupDomain]bool{}
	for _, m := range g.members {
		b := m.base()
		if !b.unresolved || !b.opts.hasInstance || resolved[b.name].err != nil {
			continue
		}
		d := g.domain(resolved[b.name].desc.InDom)
		if d == nil {
			continue
		}
		if !d.current && !requested[d] {
			requested[d] = true
			if err := d.requestList(ctx); err != nil {
				return err
			}
		}
		if err := d.requestAlias(ctx, b.opts.instance); err != nil {
			return err
		}
	}
	return nil
}

// isReply reports whether an error is one that the source has replied with, rather than
// that of a request without a reply; a time-out may be either.
func isReply(err error) bool {
	op, ok := errors.AsType[*OpError](err)
	if !ok {
		return false
	}
	code, isCode := op.Err.(pdu.Error)
	return isCode && code != pdu.ErrNoContext
}

// setResolved prepares a member for the metric that its name stands for now, or keeps the reason
// why it cannot.
func (m *groupMetric) setResolved(of member, resolved map[string]*resolvedName) {
	a, field := resolved[m.name], new(resolvedName)
	if m.field != "" {
		field = resolved[m.field]
	}
	if a.err == nil && (m.desc != a.desc || m.fieldDesc != field.desc) {
		of.resetRates()
	}
	m.desc, m.fieldDesc, m.noInst = a.desc, field.desc, false
	if m.why = cmp.Or(a.err, field.err); m.why == nil {
		m.domain = m.g.domain(a.desc.InDom)
		if err := of.setDesc(a.desc, field.desc); err != nil {
			m.why = m.g.c.fail("fetch", m.label(""), err)
		}
	}
	m.unresolved = isTemporary(pdu.FromError(m.why))
	m.g.unresolved = m.g.unresolved || m.unresolved
}

// findInstance finds the number of the instance that is selected, if the metric has
// instances.
func (m *groupMetric) findInstance() error {
	if err := checkInstance(m.opts.hasInstance, m.domain != nil, "use Instance or AddSet"); err != nil {
		return err
	}
	if m.opts.where != nil {
		return fmt.Errorf("Where selects instances of a Set: use AddSet: %w", pdu.ErrArg)
	}
	switch {
	case m.domain == nil:
		m.inst = pdu.NoInst
		return nil
	case m.domain.err != nil:
		return m.domain.err
	}
	m.selectInstance()
	return nil
}

// checkInstance checks that an instance is selected if and only if a metric has instances. use is
// the advice in the error for a missing option.
func checkInstance(selected, hasInstances bool, use string) error {
	switch {
	case hasInstances && !selected:
		return fmt.Errorf("the metric has instances: %s: %w", use, pdu.ErrInDom)
	case selected && !hasInstances:
		return fmt.Errorf("the metric has no instances: use no Instance: %w", pdu.ErrInDom)
	}
	return nil
}

// selectInstance finds the number of the instance that is selected in the domain's list. It
// reports whether it has changed.
func (m *groupMetric) selectInstance() (changed bool) {
	id, ok := m.domain.find(m.opts.instance)
	if !ok {
		id = pdu.NoInst
	}
	changed = m.inst != id || m.noInst == ok
	m.inst, m.noInst = id, !ok
	return changed
}

// findInstances finds the numbers of the selected instances in new lists.
func (g *Group) findInstances() {
	g.instsChanged = false
	changed := false
	for _, m := range g.members {
		b := m.base()
		if b.domain == nil || !b.opts.hasInstance || b.unresolved || b.why != nil || b.domain.err != nil {
			continue
		}
		if b.selectInstance() {
			changed = true
			m.resetRates()
		}
	}
	if changed {
		g.planFetch()
	}
}

// planFetch sets what to fetch: each metric once, and for instance domains without a Set only the
// selected instances.
func (g *Group) planFetch() {
	g.ids = g.ids[:0]
	slots := map[pdu.PMID]int{}
	byDomain := map[pdu.InDom][]pdu.InstID{} // nil for all
	for _, m := range g.members {
		b := m.base()
		if b.why != nil {
			continue
		}
		slot, ok := slots[b.desc.PMID]
		if !ok {
			slot = len(g.ids)
			slots[b.desc.PMID] = slot
			g.ids = append(g.ids, b.desc.PMID)
		}
		b.slot = slot
		if b.domain == nil {
			continue
		}
		d := b.domain.id
		switch all, ok := byDomain[d]; {
		case !b.opts.hasInstance || ok && all == nil:
			byDomain[d] = nil
		case b.noInst && !ok:
			byDomain[d] = []pdu.InstID{}
		case !b.noInst:
			byDomain[d] = append(all, b.inst)
		}
	}
	if p := profileOf(byDomain); g.profile == nil || !reflect.DeepEqual(p, g.profile) {
		g.profile = p // the source sends a profile with another pointer again
	}
}

// profileOf returns the profile for instances of domains. A nil list means all instances.
func profileOf(byDomain map[pdu.InDom][]pdu.InstID) *pdu.Profile {
	p := new(pdu.Profile)
	for d, insts := range byDomain {
		if insts == nil {
			continue
		}
		slices.Sort(insts)
		// Delete and Add fail only for instances of pdu.NoInDom.
		_ = p.Delete(d)
		if len(insts) > 0 { // none would mean all
			_ = p.Add(d, slices.Compact(insts)...)
		}
	}
	if len(p.InDoms) == 0 {
		return everything
	}
	return p
}
