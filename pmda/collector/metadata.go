package collector

import "github.com/pcp-go/pcp/pdu"

// planDesc plans DESC_REQ.
func (r *request) planDesc(body []byte) error {
	var p pdu.DescReq
	if err := p.Decode(body); err != nil {
		return err
	}
	id := p.PMID
	planned := planCall(r, id.Domain(), pdu.ErrPMID, "desc", func(k *call) (pdu.Desc, error) {
		return k.handler.Desc(k.ctx, &k.agentRequest, id)
	})
	planned.metrics = []pdu.PMID{id}
	r.finish = func(r *request) error {
		d, err := planned.result()
		if err != nil {
			return err
		}
		return r.reply(pdu.DescReply{Desc: d})
	}
	return nil
}

// planDescs plans DESC_IDS. If one of several metrics fails, the reply has a descriptor with
// pdu.NoPMID in its place. If a single metric fails, the reply is an error. It is also an error
// if no metric has a descriptor and an agent is overdue.
func (r *request) planDescs(body []byte) error {
	var p pdu.DescsReq
	if err := p.Decode(body); err != nil {
		return err
	}
	if err := r.reserve("descriptors", planCost*len(p.PMIDs)); err != nil {
		return err
	}
	descs := planCalls(r, len(p.PMIDs), pdu.ErrPMID, "desc",
		func(i int) (pdu.Domain, bool) { return p.PMIDs[i].Domain(), true },
		func(k *call, i int) (pdu.Desc, error) { return k.handler.Desc(k.ctx, &k.agentRequest, p.PMIDs[i]) })
	for i, e := range descs {
		if e.of != nil {
			e.of.metrics = append(e.of.metrics, p.PMIDs[i])
		}
	}
	r.finish = func(r *request) error {
		out := pdu.DescsReply{Descs: make([]pdu.Desc, len(descs))}
		overdue, known := false, false
		for i, e := range descs {
			d, err := e.result()
			if err != nil {
				if len(descs) == 1 {
					return err
				}
				d = pdu.Desc{PMID: pdu.NoPMID}
				overdue = overdue || e.abandoned()
			} else {
				known = true
			}
			out.Descs[i] = d
		}
		if overdue && !known {
			return pdu.ErrTimeout
		}
		return r.reply(out)
	}
	return nil
}

// planInstances plans INSTANCE_REQ. As in the C library, the reply omits what the request has
// given.
func (r *request) planInstances(body []byte) error {
	var p pdu.InstanceReq
	if err := p.Decode(body); err != nil {
		return err
	}
	planned := planCall(r, p.InDom.Domain(), pdu.ErrInDom, "instances", func(k *call) ([]pdu.Instance, error) {
		return k.handler.Instances(k.ctx, &k.agentRequest, p.InDom, p.Inst, p.Name)
	})
	planned.indom = p.InDom
	r.finish = func(r *request) error {
		insts, err := planned.result()
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
		return r.reply(p.Reply(insts))
	}
	return nil
}

// planText plans TEXT_REQ.
func (r *request) planText(body []byte) error {
	var p pdu.TextReq
	if err := p.Decode(body); err != nil {
		return err
	}
	if p.Text&(pdu.TextPMID|pdu.TextInDom) == 0 {
		return pdu.ErrPMID
	}
	// The domain is at the same place in both kinds of identifier.
	planned := planCall(r, pdu.PMID(p.Ident).Domain(), pdu.ErrPMID, "text", func(k *call) (string, error) {
		return k.handler.Text(k.ctx, &k.agentRequest, p.Target(), p.Text&^(pdu.TextPMID|pdu.TextInDom))
	})
	if id, ok := p.Target().PMID(); ok {
		planned.metrics = []pdu.PMID{id}
	} else {
		planned.indom, _ = p.Target().InDom()
	}
	r.finish = func(r *request) error {
		t, err := planned.result()
		if err != nil {
			return err
		}
		return r.reply(pdu.TextReply{Ident: p.Ident, Text: t})
	}
	return nil
}

// planLabels plans LABEL_REQ.
func (r *request) planLabels(body []byte) error {
	var p pdu.LabelReq
	if err := p.Decode(body); err != nil {
		return err
	}
	var d pdu.Domain
	var unknown pdu.Error
	switch p.Class {
	case pdu.LabelContext:
		r.finish = func(r *request) error { return r.replyContextLabels(p) }
		return nil
	case pdu.LabelDomain:
		d, unknown = pdu.Domain(min(p.Ident, uint32(pdu.DynamicDomain))), pdu.ErrNoAgent
	case pdu.LabelInDom, pdu.LabelInstances:
		d, unknown = pdu.InDom(p.Ident).Domain(), pdu.ErrInDom
	case pdu.LabelCluster, pdu.LabelItem:
		d, unknown = pdu.PMID(p.Ident).Domain(), pdu.ErrPMID
	default:
		return pdu.ErrType
	}
	r.agentRequest.Profile = r.client.profiles[0].Profile // LABEL_REQ has no context number
	planned := planCall(r, d, unknown, "labels", func(k *call) ([]pdu.LabelSet, error) {
		sets, err := k.handler.Labels(k.ctx, &k.agentRequest, p.Target())
		return k.agent.labelsOfDSO(p.Class, sets, err)
	})
	switch p.Class {
	case pdu.LabelItem:
		planned.metrics = []pdu.PMID{pdu.PMID(p.Ident)}
	case pdu.LabelInDom, pdu.LabelInstances:
		planned.indom = pdu.InDom(p.Ident)
	}
	r.finish = func(r *request) error {
		sets, err := planned.result()
		if err != nil {
			return err
		}
		if p.Class != pdu.LabelInstances && len(sets) > 1 {
			sets = sets[:1]
		}
		return r.reply(pdu.LabelReply{Ident: p.Ident, Class: p.Class, Sets: sets})
	}
	return nil
}

// replyContextLabels sends the labels of the client's context.
func (r *request) replyContextLabels(p pdu.LabelReq) error {
	c := r.client
	c.s.noteLabelChanges()
	set, err := c.s.Labels.For(c.info.Load())
	if err != nil {
		return err
	}
	return r.reply(pdu.LabelReply{Ident: p.Ident, Class: p.Class, Sets: []pdu.LabelSet{set}})
}
