package pmapi

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// nobody is the identifier in questions about the labels of a context.
const nobody = 0xffffffff

// ContextLabels are the labels of the collector as a whole. An empty set has no
// labels. A collector that knows no labels is pdu.ErrNoLabels. The counterpart of
// pmGetContextLabels(3).
func (c *Context) ContextLabels(ctx context.Context) (pdu.LabelSet, error) {
	return c.labels(ctx, nobody, pdu.LabelContext)
}

// DomainLabels are the labels of an agent. The counterpart of pmGetDomainLabels(3).
func (c *Context) DomainLabels(ctx context.Context, d pdu.Domain) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(d), pdu.LabelDomain)
}

// InDomLabels are the labels of an instance domain. The counterpart of
// pmGetInDomLabels(3).
func (c *Context) InDomLabels(ctx context.Context, d pdu.InDom) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(d), pdu.LabelInDom)
}

// ClusterLabels are the labels of a metric's cluster. The counterpart of
// pmGetClusterLabels(3).
func (c *Context) ClusterLabels(ctx context.Context, id pdu.PMID) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(id), pdu.LabelCluster)
}

// ItemLabels are the labels of a metric alone. The counterpart of
// pmGetItemLabels(3).
func (c *Context) ItemLabels(ctx context.Context, id pdu.PMID) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(id), pdu.LabelItem)
}

// InstanceLabels are the labels of the instances of a domain that the profile
// includes: one set for each, with its Inst. The counterpart of
// pmGetInstancesLabels(3).
func (c *Context) InstanceLabels(ctx context.Context, d pdu.InDom) ([]pdu.LabelSet, error) {
	return c.labelSets(ctx, uint32(d), pdu.LabelInstances)
}

// Labels are the labels of a metric of all levels but that of instances: of the
// context, the domain, the instance domain, the cluster and the item, in this
// order, as far as there are any. pdu.MergeLabels makes one set of them. The
// counterpart of pmLookupLabels(3).
func (c *Context) Labels(ctx context.Context, id pdu.PMID) ([]pdu.LabelSet, error) {
	desc, err := c.Desc(ctx, id)
	if err != nil {
		return nil, err
	}
	asks := []pdu.LabelReq{
		{Ident: nobody, Class: pdu.LabelContext},
		{Ident: uint32(id.Domain()), Class: pdu.LabelDomain},
		{Ident: uint32(desc.InDom), Class: pdu.LabelInDom},
		{Ident: uint32(id), Class: pdu.LabelCluster},
		{Ident: uint32(id), Class: pdu.LabelItem},
	}
	var all []pdu.LabelSet
	for _, ask := range asks {
		if ask.Class == pdu.LabelInDom && desc.InDom == pdu.NoInDom {
			continue
		}
		sets, err := c.labelSets(ctx, ask.Ident, ask.Class)
		if err != nil {
			return nil, err
		}
		all = append(all, sets...)
	}
	return all, nil
}

func (c *Context) labels(ctx context.Context, ident uint32, class pdu.LabelClass) (pdu.LabelSet, error) {
	sets, err := c.labelSets(ctx, ident, class)
	if err != nil || len(sets) == 0 {
		return pdu.LabelSet{Inst: pdu.NoInst}, err
	}
	return sets[0], nil
}

// labelSets asks for the labels of a class.
func (c *Context) labelSets(ctx context.Context, ident uint32, class pdu.LabelClass) ([]pdu.LabelSet, error) {
	var p pdu.LabelReply
	l, err := c.begin(ctx)
	if err == nil {
		err = c.end(ctx, l, l.labels(pdu.LabelReq{Ident: ident, Class: class}, c.currentProfile(), &p))
	}
	switch {
	case err != nil:
	case p.Ident != ident || p.Class != class:
		err = fmt.Errorf("labels of %v %#x in place of %v %#x: %w", p.Class, p.Ident, class, ident, pdu.ErrIPC)
	case class != pdu.LabelInstances && len(p.Sets) > 1:
		err = fmt.Errorf("%d sets of labels of one thing: %w", len(p.Sets), pdu.ErrIPC)
	case class != pdu.LabelInstances && len(p.Sets) == 1 && p.Sets[0].Err != 0:
		err = p.Sets[0].Err
	}
	if err != nil {
		return nil, c.fail("labels", class.String(), err)
	}
	return p.Sets, nil
}

func (l *link) labels(ask pdu.LabelReq, profile *pdu.Profile, p *pdu.LabelReply) error {
	if l.features&pdu.FeatureLabels == 0 {
		return pdu.ErrNoLabels
	}
	if ask.Class == pdu.LabelInstances {
		if err := l.tellProfile(profile); err != nil {
			return err
		}
	}
	body, err := l.ask(ask, pdu.KindLabel)
	if err != nil {
		return err
	}
	return p.Decode(append([]byte(nil), body...)) // the texts alias it
}
