package pmapi

import (
	"context"
	"fmt"

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
	which := kind &^ pdu.TextDirect
	switch {
	case len(ids) == 0:
		return nil, c.fail("text", "", pdu.ErrTooSmall)
	case which != pdu.TextOneLine && which != pdu.TextHelp:
		return nil, c.fail("text", ids[0].String(), pdu.ErrArg)
	}
	texts := make([]HelpText, len(ids))
	every := make([]int, len(ids))
	for i := range every {
		every[i] = i
	}
	l, err := c.begin(ctx)
	if err == nil {
		err = l.texts(ids, every, which, texts)
		if err == nil && kind == pdu.TextHelp {
			err = l.texts(ids, without(texts), pdu.TextOneLine, texts)
		}
		err = c.end(ctx, l, err)
	}
	if err != nil {
		return nil, c.fail("text", ids[0].String(), err)
	}
	for i, id := range ids {
		if m := eventMetricOf(id); m != nil {
			texts[i] = HelpText{Text: m.text(kind)}
		}
	}
	return texts, nil
}

// without are the indexes of metrics that have no long text, for which the short
// one is to be asked.
func without(texts []HelpText) (which []int) {
	for i, t := range texts {
		if noText(t.Text, t.Err) {
			which = append(which, i)
		}
	}
	return which
}

// texts asks for the texts of those of the metrics whose indexes are given.
func (l *link) texts(ids []pdu.PMID, which []int, kind pdu.TextKind, texts []HelpText) error {
	if len(which) == 0 {
		return nil
	}
	for _, i := range which {
		if err := l.queue(pdu.TextReq{Ident: uint32(ids[i]), Text: kind | pdu.TextPMID}); err != nil {
			return err
		}
	}
	return l.answers(len(which), pdu.KindText, func(n int, body []byte, err error) error {
		var p pdu.TextReply
		if err == nil {
			err = p.Decode(body)
		}
		texts[which[n]] = HelpText{p.Text, err}
		return nil
	})
}

// ItemLabelSets are the labels of metrics alone, in their order, each as ItemLabels
// gives them: the questions are asked all at once, and so take as long as one. A
// set's Err says why a metric has no labels. The error is that of all. Without
// metrics it is pdu.ErrTooSmall.
func (c *Context) ItemLabelSets(ctx context.Context, ids []pdu.PMID) ([]pdu.LabelSet, error) {
	if len(ids) == 0 {
		return nil, c.fail("labels", pdu.LabelItem.String(), pdu.ErrTooSmall)
	}
	var sets []pdu.LabelSet
	l, err := c.begin(ctx)
	if err == nil {
		sets, err = l.itemLabels(ids)
		err = c.end(ctx, l, err)
	}
	if err != nil {
		return nil, c.fail("labels", pdu.LabelItem.String(), err)
	}
	return sets, nil
}

func (l *link) itemLabels(ids []pdu.PMID) ([]pdu.LabelSet, error) {
	if l.features&pdu.FeatureLabels == 0 {
		return nil, pdu.ErrNoLabels
	}
	for _, id := range ids {
		if err := l.queue(pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem}); err != nil {
			return nil, err
		}
	}
	sets := make([]pdu.LabelSet, len(ids))
	err := l.answers(len(ids), pdu.KindLabel, func(i int, body []byte, err error) error {
		var p pdu.LabelReply
		if err == nil {
			err = p.Decode(append([]byte(nil), body...)) // the texts alias it
		}
		switch {
		case err != nil:
		case p.Ident != uint32(ids[i]) || p.Class != pdu.LabelItem || len(p.Sets) > 1:
			err = fmt.Errorf("%d sets of labels of %v %#x in place of those of %v: %w", len(p.Sets), p.Class, p.Ident, ids[i], pdu.ErrIPC)
		case len(p.Sets) == 1:
			sets[i] = p.Sets[0]
			return nil
		}
		sets[i] = pdu.LabelSet{Inst: pdu.NoInst, Err: pdu.FromError(err)}
		return nil
	})
	return sets, err
}
