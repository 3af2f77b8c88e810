package pmapi

import (
	"context"
	"errors"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// Desc describes a metric. Errors: pdu.ErrPMID, also for a domain that nobody
// serves. The counterpart of pmLookupDesc(3).
func (c *Context) Desc(ctx context.Context, id pdu.PMID) (pdu.Desc, error) {
	var p pdu.DescReply
	err := c.exchange(ctx, pdu.DescReq{PMID: id}, pdu.KindDesc, &p)
	if err == nil && p.Desc.PMID != id {
		err = pdu.ErrIPC
	}
	if err != nil {
		return pdu.Desc{PMID: pdu.NoPMID}, c.fail("describe", id.String(), err)
	}
	if c.handed != nil {
		c.handed.descs([]pdu.Desc{p.Desc})
	}
	return p.Desc, nil
}

// descsAtOnce is how many metrics are described by one PDU.
const descsAtOnce = 4096

// Descs describes metrics, in one exchange where the collector knows how to: one
// descriptor for each, in their order. One whose PMID is pdu.NoPMID stands where
// there is none, and then there is an error too, about the first such metric.
// Without metrics it is pdu.ErrTooSmall. The counterpart of pmLookupDescs(3), where
// metrics of which some are unknown are no error.
func (c *Context) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, error) {
	if len(ids) == 0 {
		return nil, c.fail("describe", "", pdu.ErrTooSmall)
	}
	descs := make([]pdu.Desc, len(ids))
	l, err := c.begin(ctx)
	if err == nil {
		for at := 0; at < len(ids) && err == nil; at += descsAtOnce {
			end := min(at+descsAtOnce, len(ids))
			err = l.descs(ids[at:end], descs[at:end])
		}
		err = c.end(ctx, l, err)
	}
	if err != nil {
		return nil, c.fail("describe", ids[0].String(), err)
	}
	if c.handed != nil {
		c.handed.descs(descs)
	}
	for i, d := range descs {
		if d.PMID == pdu.NoPMID {
			return descs, c.fail("describe", ids[i].String(), pdu.ErrPMID)
		}
	}
	return descs, nil
}

// descs describes metrics, which are not too many for one PDU.
func (l *link) descs(ids []pdu.PMID, descs []pdu.Desc) error {
	if l.features&pdu.FeatureDescs == 0 {
		return l.descsOneByOne(ids, descs)
	}
	var p pdu.DescsReply
	body, err := l.ask(pdu.DescsReq{PMIDs: ids}, pdu.KindDescs)
	if err == nil {
		err = p.Decode(body)
	}
	if err == pdu.ErrPMID { // of one alone, say
		for i := range descs {
			descs[i] = pdu.Desc{PMID: pdu.NoPMID}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if len(p.Descs) != len(ids) {
		return pdu.ErrIPC
	}
	copy(descs, p.Descs)
	for i, d := range descs {
		if d.PMID != ids[i] {
			descs[i] = pdu.Desc{PMID: pdu.NoPMID}
		}
	}
	return nil
}

// descsFlight is how many requests for one descriptor are on their way at once.
const descsFlight = 256

// descsOneByOne asks a collector that describes one metric at a time.
func (l *link) descsOneByOne(ids []pdu.PMID, descs []pdu.Desc) error {
	for at := 0; at < len(ids); at += descsFlight {
		end := min(at+descsFlight, len(ids))
		for _, id := range ids[at:end] {
			if err := l.queue(pdu.DescReq{PMID: id}); err != nil {
				return err
			}
		}
		if err := l.send(); err != nil {
			return err
		}
		for i := at; i < end; i++ {
			var p pdu.DescReply
			body, err := l.answer(pdu.KindDesc)
			if err == nil {
				err = p.Decode(body)
			}
			if _, said := err.(pdu.Error); err != nil && !said {
				return err
			}
			if descs[i] = p.Desc; err != nil || p.Desc.PMID != ids[i] {
				descs[i] = pdu.Desc{PMID: pdu.NoPMID}
			}
		}
	}
	return nil
}

// Instances are the instances of a domain, with their external names. Errors:
// pdu.ErrInDom. The counterpart of pmGetInDom(3).
func (c *Context) Instances(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error) {
	p, err := c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst})
	if err != nil {
		return nil, c.fail("instances", d.String(), err)
	}
	if c.handed != nil {
		c.handed.instances(d, p.Instances)
	}
	return p.Instances, nil
}

func (c *Context) instances(ctx context.Context, ask pdu.InstanceReq) (pdu.InstanceReply, error) {
	var p pdu.InstanceReply
	if ask.InDom == pdu.NoInDom {
		return p, pdu.ErrInDom
	}
	err := c.exchange(ctx, ask, pdu.KindInstance, &p)
	if err == nil && p.InDom != ask.InDom {
		err = pdu.ErrIPC
	}
	return p, err
}

// InstID is the number of an instance. The name is the whole name of the
// instance, or that up to its first space. Errors: pdu.ErrInst, pdu.ErrInDom. The
// counterpart of pmLookupInDom(3).
func (c *Context) InstID(ctx context.Context, d pdu.InDom, name string) (pdu.InstID, error) {
	p, err := c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst, Name: name})
	if err == nil && name == "" {
		err = pdu.ErrInst // the question was for all
	}
	if err == nil && len(p.Instances) != 1 {
		err = pdu.ErrIPC
	}
	if err != nil {
		return 0, c.fail("instance", name, err)
	}
	return p.Instances[0].ID, nil
}

// InstName is the name of an instance. Errors: pdu.ErrInst, pdu.ErrInDom. The
// counterpart of pmNameInDom(3).
func (c *Context) InstName(ctx context.Context, d pdu.InDom, id pdu.InstID) (string, error) {
	var p pdu.InstanceReply
	err := error(pdu.ErrInst)
	if id != pdu.NoInst {
		p, err = c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: id})
	}
	if err == nil && len(p.Instances) != 1 {
		err = pdu.ErrIPC
	}
	if err != nil {
		return "", c.fail("instance", strconv.Itoa(int(id)), err)
	}
	return p.Instances[0].Name, nil
}

// Text is the help text of a metric: pdu.TextOneLine or pdu.TextHelp. Where there
// is no long text, the short one takes its place, unless pdu.TextDirect is set.
// Errors: pdu.ErrText, pdu.ErrPMID. The counterpart of pmLookupText(3).
func (c *Context) Text(ctx context.Context, id pdu.PMID, kind pdu.TextKind) (string, error) {
	text, err := c.text(ctx, uint32(id), kind|pdu.TextPMID)
	return text, c.fail("text", id.String(), err)
}

// InDomText is the help text of an instance domain, as Text is that of a metric.
// The counterpart of pmLookupInDomText(3).
func (c *Context) InDomText(ctx context.Context, d pdu.InDom, kind pdu.TextKind) (string, error) {
	text, err := c.text(ctx, uint32(d), kind|pdu.TextInDom)
	return text, c.fail("text", d.String(), err)
}

func (c *Context) text(ctx context.Context, ident uint32, kind pdu.TextKind) (string, error) {
	var p pdu.TextReply // its Ident is in anybody's byte order
	err := c.exchange(ctx, pdu.TextReq{Ident: ident, Text: kind &^ pdu.TextDirect}, pdu.KindText, &p)
	if err == nil && p.Text != "" {
		return p.Text, nil
	}
	if _, code := errors.AsType[pdu.Error](err); kind&pdu.TextHelp != 0 && kind&pdu.TextDirect == 0 && (err == nil || code) {
		return c.text(ctx, ident, kind&^pdu.TextHelp|pdu.TextOneLine)
	}
	if err == nil {
		err = pdu.ErrText
	}
	return "", err
}
