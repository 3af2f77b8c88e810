package pmapi

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// An answer is what the collector says of a name.
type answer struct {
	id   pdu.PMID
	desc pdu.Desc
	err  error
}

// resolve looks up what has not been yet, or has to be again. Its error is what
// keeps metrics from being good and was not told before; or everything that does if
// none is good.
func (g *Group) resolve(ctx context.Context) error {
	if g.misassigned {
		g.assign()
	}
	if !g.unresolved {
		return nil
	}
	answers, err := g.ask(ctx)
	if err != nil {
		return err
	}
	var now, all []error
	g.unresolved = false
	for _, m := range g.members {
		b := m.base()
		if b.unresolved {
			was := pdu.FromError(b.why)
			b.settle(m, answers)
			if b.why != nil && pdu.FromError(b.why) != was {
				now = append(now, b.why)
			}
		}
		if b.why != nil {
			all = append(all, b.why)
		}
	}
	g.plan()
	if len(g.ids) > 0 {
		return errors.Join(now...)
	}
	for _, m := range g.members {
		m.base().unresolved = true
	}
	g.unresolved = true
	return errors.Join(all...)
}

// ask asks for descriptors of the names of all metrics that are not resolved, and
// then for the instances where one is named.
func (g *Group) ask(ctx context.Context) (map[string]*answer, error) {
	answers := map[string]*answer{}
	var names []string
	want := func(name string) {
		if answers[name] == nil {
			answers[name] = new(answer)
			names = append(names, name)
		}
	}
	for _, m := range g.members {
		if b := m.base(); b.unresolved {
			want(b.name)
			if d, ours := eventFields[b.field]; ours {
				answers[b.field] = &answer{desc: d}
			} else if b.field != "" {
				want(b.field)
			}
		}
	}
	if err := g.askNames(ctx, names, answers); err != nil {
		return nil, err
	}
	if err := g.askDescs(ctx, names, answers); err != nil {
		return nil, err
	}
	return answers, g.askInstances(ctx, answers)
}

// askNames looks names up.
func (g *Group) askNames(ctx context.Context, names []string, answers map[string]*answer) error {
	ids, errs, err := g.c.lookup(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		answers[name].id = ids[i]
		answers[name].err = g.c.fail("lookup", name, errs.At(i))
	}
	return nil
}

// askDescs asks for the descriptors of the names that are known.
func (g *Group) askDescs(ctx context.Context, names []string, answers map[string]*answer) error {
	var ids []pdu.PMID
	var known []string
	for _, name := range names {
		if a := answers[name]; a.err == nil {
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
		answers[name].desc = descs[i]
		answers[name].err = g.c.fail("describe", name, errs.At(i))
	}
	return nil
}

// askInstances asks for the instances of domains of which one is named, once.
func (g *Group) askInstances(ctx context.Context, answers map[string]*answer) error {
	asked := map[*groupDomain]bool{}
	for _, m := range g.members {
		b := m.base()
		if !b.unresolved || !b.opts.hasInstance || answers[b.name].err != nil {
			continue
		}
		d := g.domain(answers[b.name].desc.InDom)
		if d == nil || d.asked || asked[d] {
			continue
		}
		asked[d] = true
		if err := d.ask(ctx); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether an error is what the collector says of what it was
// asked, rather than that of the exchange; a time-out may be either.
func refused(err error) bool {
	op, ok := errors.AsType[*OpError](err)
	if !ok {
		return false
	}
	code, said := op.Err.(pdu.Error)
	return said && code != pdu.ErrNoContext
}

// settle makes a metric good, or not.
func (m *groupMetric) settle(of member, answers map[string]*answer) {
	a, field := answers[m.name], new(answer)
	if m.field != "" {
		field = answers[m.field]
	}
	if a.err == nil && (m.desc != a.desc || m.fieldDesc != field.desc) {
		of.forget()
	}
	m.desc, m.fieldDesc = a.desc, field.desc
	if m.why = cmp.Or(a.err, field.err); m.why == nil {
		m.domain = m.g.domain(a.desc.InDom)
		if err := of.accept(a.desc, field.desc); err != nil {
			m.why = m.g.c.fail("fetch", m.label(""), err)
		}
	}
	m.unresolved = isTemporary(pdu.FromError(m.why))
	m.g.unresolved = m.g.unresolved || m.unresolved
}

// instance finds the number of the instance that is named, if a metric that has
// instances needs one.
func (m *groupMetric) instance() error {
	switch {
	case m.opts.hasInstance != (m.domain != nil):
		return pdu.ErrInDom
	case m.domain == nil:
		m.inst = pdu.NoInst
		return nil
	case m.domain.err != nil:
		return m.domain.err
	}
	id, ok := m.domain.find(m.opts.instance)
	if !ok {
		return pdu.ErrInst
	}
	m.inst = id
	return nil
}

// assign finds the numbers of instances again, in lists that were asked for since.
// An instance that is not in its list keeps its number, and lacks its value.
func (g *Group) assign() {
	g.misassigned = false
	changed := false
	for _, m := range g.members {
		b := m.base()
		if b.domain == nil || !b.opts.hasInstance || b.unresolved {
			continue
		}
		id, ok := b.domain.find(b.opts.instance)
		switch {
		case ok && errors.Is(b.why, pdu.ErrInst):
			b.unresolved, g.unresolved = true, true
		case ok && b.why == nil && b.inst != id:
			b.inst, changed = id, true
			m.forget()
		}
	}
	if changed {
		g.plan()
	}
}

// plan says what is fetched: each metric once, and only the instances that are
// named in domains of which no Set wants all.
func (g *Group) plan() {
	g.ids = g.ids[:0]
	slots := map[pdu.PMID]int{}
	wants := map[pdu.InDom][]pdu.InstID{} // nil: all
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
		if all, ok := wants[d]; !b.opts.hasInstance || ok && all == nil {
			wants[d] = nil
		} else {
			wants[d] = append(all, b.inst)
		}
	}
	if p := profileOf(wants); g.profile == nil || !reflect.DeepEqual(p, g.profile) {
		g.profile = p // one that is new has to be told
	}
}

// profileOf is the profile for instances of domains, of which nil means all.
func profileOf(wants map[pdu.InDom][]pdu.InstID) *pdu.Profile {
	p := new(pdu.Profile)
	for d, insts := range wants {
		if insts == nil {
			continue
		}
		slices.Sort(insts)
		// They fail for instances without a domain alone.
		_ = p.Delete(d)
		_ = p.Add(d, slices.Compact(insts)...)
	}
	if len(p.InDoms) == 0 {
		return everything
	}
	return p
}
