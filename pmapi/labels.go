package pmapi

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// noIdent is the identifier in requests for the labels of a context.
const noIdent = 0xffffffff

// ContextLabels returns the labels of the collector as a whole, which may be an empty set. All
// methods for labels fail with pdu.ErrNoLabels on a collector older than PCP 4, which has no
// labels. The counterpart of pmGetContextLabels(3).
func (c *Context) ContextLabels(ctx context.Context) (pdu.LabelSet, error) {
	return c.labels(ctx, noIdent, pdu.LabelContext)
}

// DomainLabels returns the labels of all metrics of an agent. The counterpart of
// pmGetDomainLabels(3).
func (c *Context) DomainLabels(ctx context.Context, d pdu.Domain) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(d), pdu.LabelDomain)
}

// InDomLabels returns the labels of an instance domain. The counterpart of pmGetInDomLabels(3).
func (c *Context) InDomLabels(ctx context.Context, d pdu.InDom) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(d), pdu.LabelInDom)
}

// ClusterLabels returns the labels of a metric's cluster. The counterpart of pmGetClusterLabels(3).
func (c *Context) ClusterLabels(ctx context.Context, id pdu.PMID) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(id), pdu.LabelCluster)
}

// ItemLabels returns the labels of a metric itself, without those of other levels. The counterpart
// of pmGetItemLabels(3).
func (c *Context) ItemLabels(ctx context.Context, id pdu.PMID) (pdu.LabelSet, error) {
	return c.labels(ctx, uint32(id), pdu.LabelItem)
}

// ItemLabelSets returns the labels of metrics, one set for each, in their order. It is like
// ItemLabels, but requests all sets in one exchange.
//
// A metric without labels has an empty set. So does a metric whose request has failed, and then the
// error is a *BulkError. Without metrics the error is pdu.ErrTooSmall. The C library has no
// counterpart: there, every set takes a round trip.
func (c *Context) ItemLabelSets(ctx context.Context, ids []pdu.PMID) ([]pdu.LabelSet, error) {
	if len(ids) == 0 {
		return nil, c.fail("labels", "", pdu.ErrTooSmall)
	}
	reqs := make([]pdu.LabelReq, len(ids))
	for i, id := range ids {
		reqs[i] = pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem}
	}
	all, errs, err := c.labelSets(ctx, reqs, c.Profile())
	if err != nil {
		return nil, c.fail("labels", ids[0].String(), err)
	}
	sets := make([]pdu.LabelSet, len(ids))
	for i := range sets {
		if sets[i].Inst = pdu.NoInst; len(all[i]) > 0 {
			sets[i] = all[i][0]
		}
	}
	return sets, c.bulkError("labels", errs, func(i int) string { return ids[i].String() })
}

// InstanceLabels returns the labels of the instances of a domain that the profile includes: one set
// for each instance that has labels. The Inst of a set is the instance, and its Err the collector's
// error about the instance. The counterpart of pmGetInstancesLabels(3).
func (c *Context) InstanceLabels(ctx context.Context, d pdu.InDom) ([]pdu.LabelSet, error) {
	return c.labelsOf(ctx, uint32(d), pdu.LabelInstances)
}

// Labels returns the labels that apply to a metric on all levels except that of instances: the sets
// of the context, the domain, the instance domain, the cluster and the item, in this order. Levels
// without labels have no set. pdu.MergeLabels merges the sets; MetricLabels also merges those of
// instances. The counterpart of pmLookupLabels(3).
func (c *Context) Labels(ctx context.Context, id pdu.PMID) ([]pdu.LabelSet, error) {
	desc, err := c.Desc(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := c.allLabels(ctx, levelsOf(desc), c.Profile())
	if err != nil {
		return nil, err
	}
	return slices.Concat(all...), nil
}

// levelsOf returns the requests for the labels that apply to a metric, without those of instances.
func levelsOf(desc pdu.Desc) []pdu.LabelReq {
	reqs := []pdu.LabelReq{
		{Ident: noIdent, Class: pdu.LabelContext},
		{Ident: uint32(desc.PMID.Domain()), Class: pdu.LabelDomain},
		{Ident: uint32(desc.InDom), Class: pdu.LabelInDom},
		{Ident: uint32(desc.PMID), Class: pdu.LabelCluster},
		{Ident: uint32(desc.PMID), Class: pdu.LabelItem},
	}
	if desc.InDom == pdu.NoInDom {
		reqs = slices.Delete(reqs, 2, 3)
	}
	return reqs
}

// allLabels makes requests and fails if one of them fails.
func (c *Context) allLabels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) ([][]pdu.LabelSet, error) {
	all, errs, err := c.labelSets(ctx, reqs, profile)
	if err != nil {
		return nil, c.fail("labels", reqs[0].Class.String(), err)
	}
	for i, err := range errs {
		if err != nil {
			return nil, c.fail("labels", reqs[i].Class.String(), err)
		}
	}
	return all, nil
}

func (c *Context) labels(ctx context.Context, ident uint32, class pdu.LabelClass) (pdu.LabelSet, error) {
	sets, err := c.labelsOf(ctx, ident, class)
	if err != nil || len(sets) == 0 {
		return pdu.LabelSet{Inst: pdu.NoInst}, err
	}
	return sets[0], nil
}

// labelsOf returns the label sets of a class for one identifier.
func (c *Context) labelsOf(ctx context.Context, ident uint32, class pdu.LabelClass) ([]pdu.LabelSet, error) {
	sets, errs, err := c.labelSets(ctx, []pdu.LabelReq{{Ident: ident, Class: class}}, c.Profile())
	if err == nil {
		err = errs.At(0)
	}
	if err != nil {
		return nil, c.fail("labels", class.String(), err)
	}
	return sets[0], nil
}

func (c *Context) labelSets(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) (sets [][]pdu.LabelSet, errs source.Errors, err error) {
	err = c.inTurn(ctx, func() (err error) {
		sets, errs, err = c.src.Labels(ctx, reqs, profile)
		return err
	})
	return sets, errs, err
}
