package pmapi

import (
	"context"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// Desc describes a metric. Errors: pdu.ErrPMID, also for a domain without
// an agent. The counterpart of pmLookupDesc(3).
func (c *Context) Desc(ctx context.Context, id pdu.PMID) (pdu.Desc, error) {
	descs, errs, err := c.describe(ctx, []pdu.PMID{id})
	if err != nil {
		return noDesc, err
	}
	return descs[0], c.failItem("describe", id.String(), errs.At(0))
}

// noDesc stands in for a missing descriptor.
var noDesc = pdu.Desc{PMID: pdu.NoPMID}

// Descs describes metrics. It returns one descriptor for each metric, in their order. One exchange
// describes all metrics. Unknown metrics are then requested again one by one, to learn the reasons.
//
// An unknown metric has a descriptor whose PMID is pdu.NoPMID, and the error is a *BulkError with
// the errors of Desc. Without metrics the error is pdu.ErrTooSmall. The counterpart of
// pmLookupDescs(3), which does not fail if some metrics among several are unknown.
func (c *Context) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, error) {
	descs, errs, err := c.describe(ctx, ids)
	if err != nil {
		return nil, err
	}
	return descs, c.bulkError("describe", errs, func(i int) string { return ids[i].String() })
}

// describe describes metrics. Its last error is about all of them.
func (c *Context) describe(ctx context.Context, ids []pdu.PMID) (descs []pdu.Desc, errs source.Errors, err error) {
	if len(ids) == 0 {
		return nil, nil, c.fail("describe", "", pdu.ErrTooSmall)
	}
	err = c.inTurn(ctx, func() (err error) {
		descs, errs, err = c.src.Descs(ctx, ids)
		return err
	})
	return descs, errs, c.fail("describe", ids[0].String(), err)
}

// Instances returns the present instances of a domain, with their names, in no particular order.
// The names of a reply of more than 256 KiB share its memory, and each name keeps all of it in use;
// strings.Clone copies a name to be kept for longer. Errors: pdu.ErrInDom. The counterpart of
// pmGetInDom(3).
func (c *Context) Instances(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error) {
	list, err := c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst})
	return list, c.fail("instances", d.String(), err)
}

func (c *Context) instances(ctx context.Context, req pdu.InstanceReq) (list []pdu.Instance, err error) {
	if req.InDom == pdu.NoInDom {
		return nil, pdu.ErrInDom
	}
	err = c.inTurn(ctx, func() (err error) {
		list, err = c.src.Instances(ctx, req)
		return err
	})
	return list, err
}

// InstID returns the number of the instance with a name: the whole name, or the name up to its
// first space. Errors: pdu.ErrInst, pdu.ErrInDom. The counterpart of pmLookupInDom(3).
func (c *Context) InstID(ctx context.Context, d pdu.InDom, name string) (pdu.InstID, error) {
	list, err := c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst, Name: name})
	if err == nil && name == "" {
		err = pdu.ErrInst // the request was for all
	}
	if err != nil {
		return 0, c.fail("instance", name, err)
	}
	return list[0].ID, nil
}

// InstName returns the name of an instance. Errors: pdu.ErrInst, pdu.ErrInDom. The counterpart of
// pmNameInDom(3).
func (c *Context) InstName(ctx context.Context, d pdu.InDom, id pdu.InstID) (string, error) {
	var list []pdu.Instance
	err := error(pdu.ErrInst)
	if id != pdu.NoInst {
		list, err = c.instances(ctx, pdu.InstanceReq{InDom: d, Inst: id})
	}
	if err != nil {
		return "", c.fail("instance", strconv.Itoa(int(id)), err)
	}
	return list[0].Name, nil
}

// Text returns the help text of a metric: one line for the kind pdu.TextOneLine, or the full text
// for pdu.TextHelp. If the full text is missing, Text returns the line instead, unless kind has
// pdu.TextDirect. Errors: pdu.ErrText, pdu.ErrPMID; pdu.ErrArg for another kind; pdu.ErrNotHost for
// archives without texts. The counterpart of pmLookupText(3).
func (c *Context) Text(ctx context.Context, id pdu.PMID, kind pdu.TextKind) (string, error) {
	return c.text(ctx, id.String(), pdu.TextReq{Ident: uint32(id), Text: pdu.TextPMID}, kind)
}

// InDomText is like Text for an instance domain. The counterpart of pmLookupInDomText(3).
func (c *Context) InDomText(ctx context.Context, d pdu.InDom, kind pdu.TextKind) (string, error) {
	return c.text(ctx, d.String(), pdu.TextReq{Ident: uint32(d), Text: pdu.TextInDom}, kind)
}

func (c *Context) text(ctx context.Context, about string, of pdu.TextReq, kind pdu.TextKind) (string, error) {
	texts, errs, err := c.texts(ctx, []pdu.TextReq{of}, kind)
	if err == nil {
		err = errs.At(0)
	}
	if err != nil {
		return "", c.fail("text", about, err)
	}
	return texts[0], nil
}

// texts returns the texts of a kind for reqs.
func (c *Context) texts(ctx context.Context, reqs []pdu.TextReq, kind pdu.TextKind) (texts []string, errs source.Errors, err error) {
	which := kind &^ pdu.TextDirect
	if which != pdu.TextOneLine && which != pdu.TextHelp {
		return nil, nil, pdu.ErrArg
	}
	for i := range reqs {
		reqs[i].Text |= which
	}
	err = c.inTurn(ctx, func() (err error) {
		texts, errs, err = c.src.Texts(ctx, reqs)
		if err != nil || kind != pdu.TextHelp {
			return err
		}
		return c.replaceMissing(ctx, reqs, texts, &errs)
	})
	return texts, errs, err
}

// Texts returns the help texts of metrics, one for each, in their order. It is like Text, but
// requests all texts in one exchange.
//
// A metric without a text has "", and the error is a *BulkError with the errors of Text. Without
// metrics the error is pdu.ErrTooSmall. The C library has no counterpart: there, every text takes a
// round trip.
func (c *Context) Texts(ctx context.Context, ids []pdu.PMID, kind pdu.TextKind) ([]string, error) {
	if len(ids) == 0 {
		return nil, c.fail("text", "", pdu.ErrTooSmall)
	}
	reqs := make([]pdu.TextReq, len(ids))
	for i, id := range ids {
		reqs[i] = pdu.TextReq{Ident: uint32(id), Text: pdu.TextPMID}
	}
	texts, errs, err := c.texts(ctx, reqs, kind)
	if err != nil {
		return nil, c.fail("text", ids[0].String(), err)
	}
	return texts, c.bulkError("text", errs, func(i int) string { return ids[i].String() })
}

// replaceMissing replaces each missing full text by the line.
func (c *Context) replaceMissing(ctx context.Context, reqs []pdu.TextReq, texts []string, errs *source.Errors) error {
	var again []pdu.TextReq
	var at []int
	for i, r := range reqs {
		if hasNoText(texts[i], errs.At(i)) {
			again = append(again, pdu.TextReq{Ident: r.Ident, Text: r.Text&^pdu.TextHelp | pdu.TextOneLine})
			at = append(at, i)
		}
	}
	if len(again) == 0 {
		return nil
	}
	short, shortErrs, err := c.src.Texts(ctx, again)
	if err != nil {
		return err
	}
	for n, i := range at {
		texts[i] = short[n]
		errs.Set(i, len(reqs), shortErrs.At(n))
	}
	return nil
}

// hasNoText reports whether a source has replied without a text, for any reason. The source may
// have the text of the other kind.
func hasNoText(text string, err error) bool {
	_, isCode := err.(pdu.Error)
	return isCode || err == nil && text == ""
}

// HostName returns the name of the host whose metrics these are: the value of pmcd.hostname, or the
// host in the label of an archive. If the collector lacks that metric or the request fails, it is
// this computer's name for a local collector, and otherwise the name that the context was opened
// with. The counterpart of pmGetContextHostName(3).
func (c *Context) HostName(ctx context.Context) string {
	var name string
	err := c.inTurn(ctx, func() (err error) {
		name, err = c.src.HostName(ctx)
		return err
	})
	if err != nil || name == "" {
		return c.hostName
	}
	return name
}
