package pmapi

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// Desc describes a metric. Errors: pdu.ErrPMID, also for a domain that nobody
// serves. The counterpart of pmLookupDesc(3).
func (c *Context) Desc(ctx context.Context, id pdu.PMID) (pdu.Desc, error) {
	descs, err := c.Descs(ctx, []pdu.PMID{id})
	if len(descs) == 0 {
		return noDesc, err
	}
	return descs[0], err
}

// noDesc stands where there is no descriptor.
var noDesc = pdu.Desc{PMID: pdu.NoPMID}

// Descs describes metrics, in one exchange: one descriptor for each, in their
// order. One whose PMID is pdu.NoPMID stands where there is none, and then there is
// an error too, about the first such metric. Without metrics it is pdu.ErrTooSmall.
// The counterpart of pmLookupDescs(3), where metrics of which some are unknown are
// no error.
func (c *Context) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, error) {
	if len(ids) == 0 {
		return nil, c.fail("describe", "", pdu.ErrTooSmall)
	}
	l, err := c.begin(ctx)
	var descs []pdu.Desc
	var codes []pdu.Error
	if err == nil {
		if descs, codes, err = l.descs(ids, descsAtOnce); err == nil {
			c.handed.addDescs(descs)
		}
		err = c.end(ctx, l, err)
	}
	if err != nil {
		return nil, c.fail("describe", ids[0].String(), err)
	}
	describeEvents(ids, descs)
	for i, d := range descs {
		if d.PMID == pdu.NoPMID {
			return descs, c.fail("describe", ids[i].String(), codes[i])
		}
	}
	return descs, nil
}

// descsAtOnce is how many metrics one request describes, of a collector that
// describes several.
const descsAtOnce = 4096

// descs describes metrics, as many at once as the collector can, but at most step.
// A code is why there is no descriptor; only a question about one metric tells more
// than pdu.ErrPMID.
func (l *link) descs(ids []pdu.PMID, step int) ([]pdu.Desc, []pdu.Error, error) {
	descs, codes := make([]pdu.Desc, len(ids)), make([]pdu.Error, len(ids))
	want := pdu.KindDescs
	if step == 1 || len(ids) == 1 || l.features&pdu.FeatureDescs == 0 {
		step, want = 1, pdu.KindDesc
	}
	n := 0
	for some := range slices.Chunk(ids, step) {
		ask := pdu.PDU(pdu.DescsReq{PMIDs: some})
		if want == pdu.KindDesc {
			ask = pdu.DescReq{PMID: some[0]}
		}
		if err := l.queue(ask); err != nil {
			return nil, nil, err
		}
		n++
	}
	err := l.answers(n, want, func(i int, body []byte, err error) error {
		at := i * step
		end := min(at+step, len(ids))
		return takeDescs(want, body, err, ids[at:end], descs[at:end], codes[at:end])
	})
	return descs, codes, err
}

// takeDescs takes the answer to one request for descriptors: a code is about all of
// them.
func takeDescs(kind pdu.Kind, body []byte, err error, ids []pdu.PMID, descs []pdu.Desc, codes []pdu.Error) error {
	code, said := err.(pdu.Error)
	if err == nil {
		err = decodeDescs(kind, body, descs)
	}
	if err != nil && !said {
		return err
	}
	for i, d := range descs {
		switch {
		case said:
			codes[i] = code
		case d.PMID == pdu.NoPMID:
			codes[i] = pdu.ErrPMID
		case d.PMID != ids[i]:
			codes[i] = pdu.ErrIPC
		default:
			continue
		}
		descs[i] = noDesc
	}
	return nil
}

// decodeDescs decodes an answer that has as many descriptors as descs has room for.
func decodeDescs(kind pdu.Kind, body []byte, descs []pdu.Desc) error {
	if kind == pdu.KindDesc {
		var p pdu.DescReply
		err := p.Decode(body)
		descs[0] = p.Desc
		return err
	}
	var p pdu.DescsReply
	if err := p.Decode(body); err != nil {
		return err
	}
	if copy(descs, p.Descs); len(p.Descs) != len(descs) {
		return fmt.Errorf("%d descriptors of %d metrics: %w", len(p.Descs), len(descs), pdu.ErrIPC)
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
	return p.Instances, nil
}

func (c *Context) instances(ctx context.Context, ask pdu.InstanceReq) (instanceReply, error) {
	p := instanceReply{of: ask}
	if ask.InDom == pdu.NoInDom {
		return p, pdu.ErrInDom
	}
	err := c.exchange(ctx, ask, pdu.KindInstance, &p, func() {
		if p.all() {
			c.handed.addInstances(ask.InDom, p.Instances)
		}
	})
	return p, err
}

// An instanceReply is the answer to a question, of all instances or of one.
type instanceReply struct {
	pdu.InstanceReply
	of pdu.InstanceReq
}

func (p *instanceReply) all() bool { return p.of.Inst == pdu.NoInst && p.of.Name == "" }

func (p *instanceReply) Decode(body []byte) error {
	if err := p.InstanceReply.Decode(body); err != nil {
		return err
	}
	// Its InDom says nothing: agents within the C pmcd leave it unset.
	if !p.all() && len(p.Instances) != 1 {
		return fmt.Errorf("%d instances in place of one: %w", len(p.Instances), pdu.ErrIPC)
	}
	return nil
}

// InstID is the number of an instance. The name is the whole name of the
// instance, or that up to its first space. Errors: pdu.ErrInst, pdu.ErrInDom. The
// counterpart of pmLookupInDom(3).
func (c *Context) InstID(ctx context.Context, d pdu.InDom, name string) (pdu.InstID, error) {
	p, err := c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst, Name: name})
	if err == nil && name == "" {
		err = pdu.ErrInst // the question was for all
	}
	if err != nil {
		return 0, c.fail("instance", name, err)
	}
	return p.Instances[0].ID, nil
}

// InstName is the name of an instance. Errors: pdu.ErrInst, pdu.ErrInDom. The
// counterpart of pmNameInDom(3).
func (c *Context) InstName(ctx context.Context, d pdu.InDom, id pdu.InstID) (string, error) {
	var p instanceReply
	err := error(pdu.ErrInst)
	if id != pdu.NoInst {
		p, err = c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: id})
	}
	if err != nil {
		return "", c.fail("instance", strconv.Itoa(int(id)), err)
	}
	return p.Instances[0].Name, nil
}

// Text is the help text of a metric: pdu.TextOneLine or pdu.TextHelp. Where there
// is no long text, the short one takes its place, unless pdu.TextDirect is set.
// Errors: pdu.ErrText, pdu.ErrPMID; pdu.ErrArg for another kind. The counterpart of
// pmLookupText(3).
func (c *Context) Text(ctx context.Context, id pdu.PMID, kind pdu.TextKind) (string, error) {
	if m := eventMetricOf(id); m != nil {
		return m.text(kind), nil
	}
	text, err := c.text(ctx, uint32(id), pdu.TextPMID, kind)
	return text, c.fail("text", id.String(), err)
}

// InDomText is the help text of an instance domain, as Text is that of a metric.
// The counterpart of pmLookupInDomText(3).
func (c *Context) InDomText(ctx context.Context, d pdu.InDom, kind pdu.TextKind) (string, error) {
	text, err := c.text(ctx, uint32(d), pdu.TextInDom, kind)
	return text, c.fail("text", d.String(), err)
}

// noText reports whether a collector has said that there is no text, for whatever
// reason: another text may do.
func noText(text string, err error) bool {
	_, said := err.(pdu.Error)
	return said || err == nil && text == ""
}

func (c *Context) text(ctx context.Context, ident uint32, of, kind pdu.TextKind) (string, error) {
	which := kind &^ pdu.TextDirect
	if which != pdu.TextOneLine && which != pdu.TextHelp {
		return "", pdu.ErrArg
	}
	var p pdu.TextReply // its Ident is in anybody's byte order
	err := c.exchange(ctx, pdu.TextReq{Ident: ident, Text: which | of}, pdu.KindText, &p, nil)
	if noText(p.Text, err) && kind == pdu.TextHelp {
		return c.text(ctx, ident, of, pdu.TextOneLine)
	}
	return p.Text, err
}
