package pmapi

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// MetricLabels are the labels of a metric and of its instances, merged over all levels.
// LabelFlags.Class gives the level of a label. Its other flags are pdu.LabelOptional and
// pdu.LabelCompound.
type MetricLabels struct {
	// Metric has the labels of the context, the domain, the instance domain, the cluster and the
	// metric. Later ones take precedence.
	Metric pdu.LabelSet

	insts map[pdu.InstID]pdu.LabelSet
}

// MetricLabels returns the labels of a metric and of those of its instances that the profile
// includes, in two exchanges. Errors: those of Desc and of Labels; E2BIG for labels that exceed the
// limits of a set when they are merged. The counterpart of pmLookupLabels(3),
// pmGetInstancesLabels(3) and pmMergeLabelSets(3) together.
func (c *Context) MetricLabels(ctx context.Context, id pdu.PMID) (*MetricLabels, error) {
	desc, err := c.Desc(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.metricLabels(ctx, desc, c.Profile())
}

func (c *Context) metricLabels(ctx context.Context, desc pdu.Desc, profile *pdu.Profile) (*MetricLabels, error) {
	reqs := levelsOf(desc)
	levels := len(reqs)
	if desc.InDom != pdu.NoInDom {
		reqs = append(reqs, pdu.LabelReq{Ident: uint32(desc.InDom), Class: pdu.LabelInstances})
	}
	all, err := c.allLabels(ctx, reqs, profile)
	if err != nil {
		return nil, err
	}
	l := &MetricLabels{insts: map[pdu.InstID]pdu.LabelSet{}}
	for _, set := range slices.Concat(all[levels:]...) {
		l.insts[set.Inst] = set
	}
	if l.Metric, err = pdu.MergeLabels(nil, slices.Concat(all[:levels]...)...); err != nil {
		return nil, c.fail("labels", desc.PMID.String(), err)
	}
	return l, nil
}

// Instance returns the labels of the metric merged with those of one instance, which take
// precedence. For an instance without labels it returns the labels of the metric. The Err of the
// set is the source's error about the instance, or says that the labels cannot be merged.
func (l *MetricLabels) Instance(id pdu.InstID) pdu.LabelSet {
	own, ok := l.insts[id]
	if !ok {
		all := l.Metric
		all.Inst = id
		return all
	}
	if own.Err != 0 {
		return pdu.LabelSet{Inst: id, Err: own.Err}
	}
	all, err := pdu.MergeLabels(nil, l.Metric, own)
	if err != nil {
		return pdu.LabelSet{Inst: id, Err: pdu.FromError(err)}
	}
	return all
}
