package main

import (
	"errors"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// add prints metrics, once there are as many as a batch has.
func (p *printer) add(names []string) {
	for _, name := range names {
		p.names = append(p.names, name)
		if len(p.names) >= p.batch {
			p.flush()
		}
	}
}

// flush prints the metrics of a batch: what they have in common is asked for at once.
func (p *printer) flush() {
	defer func() { p.names = p.names[:0] }()
	b, problem, err := p.ask()
	for i, name := range p.names {
		switch {
		case err != nil:
			p.printf("%s: %s: %s\n", name, problem, tool.Reason(err))
		default:
			p.metric(name, b, i)
		}
	}
}

// A batch is what was asked at once of the metrics in turn. What was not asked is empty.
type batch struct {
	ids      []pdu.PMID
	descs    []pdu.Desc
	descErrs []error
	values   pdu.Result
	oneLines []pmapi.HelpText
	helps    []pmapi.HelpText
	labels   []pdu.LabelSet // of the metrics alone
	insts    map[pdu.InDom]instances
}

// ask asks for a batch. An error is that of the function of the C library that problem names.
func (p *printer) ask() (b *batch, problem string, err error) {
	b = &batch{insts: map[pdu.InDom]instances{}}
	if len(p.names) == 0 || !p.needsPMID() {
		return b, "", nil
	}
	if b.ids, err = tool.Lookup(p.ctx, p.pc, p.names); err != nil {
		return nil, "pmLookupName", err
	}
	if p.values || p.labels || p.verify {
		if err := p.pc.Fetch(p.ctx, b.ids, &b.values); err != nil {
			return nil, "pmFetch", err
		}
	}
	if p.needsDesc() {
		b.descs, b.descErrs = tool.Descs(p.ctx, p.pc, b.ids)
	}
	if p.oneLine {
		b.oneLines = p.texts(b.ids, pdu.TextOneLine)
	}
	if p.help {
		b.helps = p.texts(b.ids, pdu.TextHelp)
	}
	if p.labels || p.series {
		// What cannot be asked has no labels.
		if b.labels, _ = p.pc.ItemLabelSets(p.ctx, b.ids); b.labels == nil {
			b.labels = make([]pdu.LabelSet, len(b.ids))
		}
	}
	return b, "", nil
}

// texts are the help texts of metrics. If they cannot be asked for, that is the matter with each.
func (p *printer) texts(ids []pdu.PMID, kind pdu.TextKind) []pmapi.HelpText {
	texts, err := p.pc.Texts(p.ctx, ids, kind)
	if err != nil {
		texts = slices.Repeat([]pmapi.HelpText{{Err: err}}, len(ids))
	}
	return texts
}

func (s *show) needsDesc() bool { return s.descs || s.values || s.labels || s.series || s.verify }

func (s *show) needsPMID() bool { return s.needsDesc() || s.pmid || s.oneLine || s.help }

// fetchListed fetches the values of a metric that has them only for a profile that lists the instances.
func (p *printer) fetchListed(d pdu.Desc, r *pdu.Result) (problem string) {
	insts, err := p.pc.Instances(p.ctx, d.InDom)
	switch {
	case err != nil:
		return "pmGetIndom: " + tool.Reason(err)
	case len(insts) == 0:
		return "pmGetIndom: No instances?"
	}
	ids := make([]pdu.InstID, len(insts))
	for i, inst := range insts {
		ids[i] = inst.ID
	}
	defer p.pc.SetProfile(nil)
	err = errors.Join(p.pc.DelProfile(d.InDom), p.pc.AddProfile(d.InDom, ids...))
	if err == nil {
		err = p.pc.Fetch(p.ctx, []pdu.PMID{d.PMID}, r)
	}
	if err != nil {
		return "pmFetch: " + tool.Reason(err)
	}
	return ""
}

// instances are those of a domain, asked for once in a batch. What cannot be asked has none.
func (p *printer) instances(b *batch, d pdu.InDom) instances {
	in, ok := b.insts[d]
	if !ok {
		in.list, _ = p.pc.Instances(p.ctx, d)
		in.names = tool.InstNames(in.list)
		b.insts[d] = in
	}
	return in
}

// instances are those of a domain, in its order and by number.
type instances struct {
	list  []pdu.Instance
	names map[pdu.InstID]string
}
