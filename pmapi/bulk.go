package pmapi

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
)

// A HelpText is the help text of one of several metrics.
type HelpText struct {
	Text string
	Err  error // why there is none: a pdu.Error, or one that wraps pdu.ErrIPC
}

// Texts are the help texts of metrics, in their order, each as Text gives it: the
// questions are asked all at once, and so take as long as one. The error is that of
// all. Without metrics it is pdu.ErrTooSmall. There is no counterpart in the C
// library, where every text takes a round trip.
func (c *Context) Texts(ctx context.Context, ids []pdu.PMID, kind pdu.TextKind) ([]HelpText, error) {
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
	list := make([]HelpText, len(ids))
	for i := range list {
		list[i] = HelpText{texts[i], errs.At(i)}
	}
	return list, nil
}

// ItemLabelSets are the labels of metrics alone, in their order, each as ItemLabels
// gives them: the questions are asked all at once, and so take as long as one. A
// set's Err says why a metric has no labels. The error is that of all. Without
// metrics it is pdu.ErrTooSmall.
func (c *Context) ItemLabelSets(ctx context.Context, ids []pdu.PMID) ([]pdu.LabelSet, error) {
	if len(ids) == 0 {
		return nil, c.fail("labels", pdu.LabelItem.String(), pdu.ErrTooSmall)
	}
	reqs := make([]pdu.LabelReq, len(ids))
	for i, id := range ids {
		reqs[i] = pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem}
	}
	all, errs, err := c.labelSets(ctx, reqs)
	if err != nil {
		return nil, c.fail("labels", pdu.LabelItem.String(), err)
	}
	sets := make([]pdu.LabelSet, len(ids))
	for i := range sets {
		sets[i].Inst = pdu.NoInst
		if err := errs.At(i); err != nil {
			sets[i].Err = pdu.FromError(err)
		} else if len(all[i]) > 0 {
			sets[i] = all[i][0]
		}
	}
	return sets, nil
}
