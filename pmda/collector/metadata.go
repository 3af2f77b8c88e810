package collector

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// desc answers DESC_REQ.
func (c *client) desc(_ pdu.Header, body []byte) error {
	var p pdu.DescReq
	if err := p.Decode(body); err != nil {
		return err
	}
	d, err := c.describe(c.request(), p.PMID)
	if err != nil {
		return err
	}
	return c.reply(pdu.DescReply{Desc: d})
}

func (c *client) describe(r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	a, err := c.s.find(id.Domain(), pdu.ErrPMID)
	if err != nil {
		return pdu.Desc{}, err
	}
	return guard(c, a, "desc", func(ctx context.Context, h pmda.Handler) (pdu.Desc, error) { return h.Desc(ctx, r, id) })
}

// descs answers DESC_IDS: one that fails alone is an error, of several it is a
// gap.
func (c *client) descs(_ pdu.Header, body []byte) error {
	var p pdu.DescsReq
	if err := p.Decode(body); err != nil {
		return err
	}
	out := pdu.DescsReply{Descs: make([]pdu.Desc, len(p.PMIDs))}
	for i, id := range p.PMIDs {
		d, err := c.describe(c.request(), id)
		if err != nil {
			if len(p.PMIDs) == 1 || err == errLost {
				return err
			}
			d = pdu.Desc{PMID: pdu.NoPMID}
		}
		out.Descs[i] = d
	}
	return c.reply(out)
}

// instances answers INSTANCE_REQ, in the form of the C library: what was given
// in the question is left out of the answer.
func (c *client) instances(_ pdu.Header, body []byte) error {
	var p pdu.InstanceReq
	if err := p.Decode(body); err != nil {
		return err
	}
	a, err := c.s.find(p.InDom.Domain(), pdu.ErrInDom)
	if err != nil {
		return err
	}
	r := c.request()
	insts, err := guard(c, a, "instances", func(ctx context.Context, h pmda.Handler) ([]pdu.Instance, error) {
		return h.Instances(ctx, r, p.InDom, p.Inst, p.Name)
	})
	if one := p.Inst != pdu.NoInst || p.Name != ""; err == nil && one {
		if len(insts) == 0 {
			err = pdu.ErrInst
		} else {
			insts = insts[:1]
		}
	}
	if err != nil {
		return err
	}
	return c.reply(p.Reply(insts))
}

// text answers TEXT_REQ.
func (c *client) text(_ pdu.Header, body []byte) error {
	var p pdu.TextReq
	if err := p.Decode(body); err != nil {
		return err
	}
	if p.Text&(pdu.TextPMID|pdu.TextInDom) == 0 {
		return pdu.ErrPMID
	}
	// The domain lies at the same place in both kinds of identifier.
	a, err := c.s.find(pdu.PMID(p.Ident).Domain(), pdu.ErrPMID)
	if err != nil {
		return err
	}
	r := c.request()
	t, err := guard(c, a, "text", func(ctx context.Context, h pmda.Handler) (string, error) {
		return h.Text(ctx, r, p.Target(), p.Text&^(pdu.TextPMID|pdu.TextInDom))
	})
	if err != nil {
		return err
	}
	return c.reply(pdu.TextReply{Ident: p.Ident, Text: t})
}

// labels answers LABEL_REQ.
func (c *client) labels(_ pdu.Header, body []byte) error {
	var p pdu.LabelReq
	if err := p.Decode(body); err != nil {
		return err
	}
	sets, err := c.labelSets(p)
	if err != nil {
		return err
	}
	if p.Class != pdu.LabelInstances && len(sets) > 1 {
		sets = sets[:1]
	}
	return c.reply(pdu.LabelReply{Ident: p.Ident, Class: p.Class, Sets: sets})
}

func (c *client) labelSets(p pdu.LabelReq) ([]pdu.LabelSet, error) {
	var d pdu.Domain
	var unknown pdu.Error
	switch p.Class {
	case pdu.LabelContext:
		c.s.noticeLabels()
		set, err := c.s.Labels.Set(c.info.Load())
		return []pdu.LabelSet{set}, err
	case pdu.LabelDomain:
		d, unknown = pdu.Domain(min(p.Ident, uint32(pdu.DynamicDomain))), pdu.ErrNoAgent
	case pdu.LabelInDom, pdu.LabelInstances:
		d, unknown = pdu.InDom(p.Ident).Domain(), pdu.ErrInDom
	case pdu.LabelCluster, pdu.LabelItem:
		d, unknown = pdu.PMID(p.Ident).Domain(), pdu.ErrPMID
	default:
		return nil, pdu.ErrType
	}
	a, err := c.s.find(d, unknown)
	if err != nil {
		return nil, err
	}
	r := c.request()
	r.Profile = c.profiles[r.Context]
	return guard(c, a, "labels", func(ctx context.Context, h pmda.Handler) ([]pdu.LabelSet, error) {
		return h.Labels(ctx, r, p.Target())
	})
}
