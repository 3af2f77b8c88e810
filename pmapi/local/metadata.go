package local

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmda"
)

func (c *client) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	if err := c.begin(ctx, nil); err != nil {
		return nil, nil, err
	}
	defer c.unwind()
	descs, errs, err := each(ctx, c, len(ids), func(i int) pdu.Domain { return ids[i].Domain() },
		func(h pmda.Handler, i int) (pdu.Desc, error) { return h.Desc(ctx, &c.request, ids[i]) })
	for i := range descs {
		if errs.At(i) != nil {
			descs[i] = pdu.Desc{PMID: pdu.NoPMID}
		}
	}
	return descs, errs, c.end(ctx, err)
}

func (c *client) Instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error) {
	if err := c.begin(ctx, nil); err != nil {
		return nil, err
	}
	defer c.unwind()
	list, err := c.instances(ctx, req)
	return list, c.end(ctx, err)
}

func (c *client) instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error) {
	h, err := c.agents.handler(ctx, req.InDom.Domain())
	if err != nil {
		return nil, err
	}
	list, err := h.Instances(ctx, &c.request, req.InDom, req.Inst, req.Name)
	switch one := req.Inst != pdu.NoInst || req.Name != ""; {
	case err != nil:
		return nil, code(err)
	case !one:
		return slices.Clone(list), nil // the agent owns list
	case len(list) == 0:
		return nil, pdu.ErrInst
	}
	return slices.Clone(list[:1]), nil
}

func (c *client) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	if err := c.begin(ctx, nil); err != nil {
		return nil, nil, err
	}
	defer c.unwind()
	const what = pdu.TextPMID | pdu.TextInDom
	texts, errs, err := each(ctx, c, len(reqs),
		func(i int) pdu.Domain { return pdu.PMID(reqs[i].Ident).Domain() }, // a pdu.InDom has it in the same bits
		func(h pmda.Handler, i int) (string, error) {
			return h.Text(ctx, &c.request, reqs[i].Target(), reqs[i].Text&^what)
		})
	return texts, errs, c.end(ctx, err)
}

func (c *client) Labels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) ([][]pdu.LabelSet, source.Errors, error) {
	if err := c.begin(ctx, profile); err != nil {
		return nil, nil, err
	}
	defer c.unwind()
	sets := make([][]pdu.LabelSet, len(reqs))
	var errs source.Errors
	for i, r := range reqs {
		var err error
		if sets[i], err = c.labels(ctx, r); err != nil {
			errs.Set(i, len(reqs), code(err))
		}
	}
	if ctx.Err() != nil {
		return nil, nil, c.end(ctx, context.Cause(ctx))
	}
	return sets, errs, c.end(ctx, nil)
}

func (c *client) labels(ctx context.Context, r pdu.LabelReq) ([]pdu.LabelSet, error) {
	d := pdu.PMID(r.Ident).Domain() // a pdu.InDom has it in the same bits
	switch r.Class {
	case pdu.LabelContext:
		set, err := c.agents.Labels.For(c.who)
		return []pdu.LabelSet{set}, err
	case pdu.LabelDomain:
		d = pdu.Domain(min(r.Ident, uint32(pdu.DynamicDomain)))
	}
	h, err := c.agents.handler(ctx, d)
	if err != nil {
		return nil, err
	}
	sets, err := h.Labels(ctx, &c.request, r.Target())
	if err != nil || r.Class == pdu.LabelInstances || len(sets) == 0 {
		return sets, err
	}
	if sets[0].Err != 0 {
		return nil, sets[0].Err
	}
	return sets[:1], nil
}
