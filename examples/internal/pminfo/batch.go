package pminfo

import (
	"errors"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// addMetrics adds metrics to the batch, and prints it when it is full.
func (p *printer) addMetrics(names []string) {
	for _, name := range names {
		p.names = append(p.names, name)
		if len(p.names) >= p.batch {
			p.printBatch()
		}
	}
}

// printBatch prints the metrics of the batch. Each of its requests is for all of them.
func (p *printer) printBatch() {
	defer func() { p.names = p.names[:0] }()
	b, function, err := p.requestBatch()
	for i, name := range p.names {
		if err != nil {
			p.printf("%s: %s: %v\n", terminal.EscapeName(name), function, pcptool.Cause(err))
			continue
		}
		p.printMetric(name, b, i)
	}
}

// A batch is the replies about the metrics of a batch, in their order. Fields that the options do
// not need are empty.
type batch struct {
	ids      []pdu.PMID
	descs    []pdu.Desc
	descErr  error // for pmapi.ErrorAt
	values   pdu.Result
	oneLines []helpText
	helps    []helpText
	labels   []pdu.LabelSet // of the metrics alone
}

// requestBatch requests what the options need for the metrics of the batch. On error, function is
// the function of the C library that would have failed.
func (p *printer) requestBatch() (b *batch, function string, err error) {
	b = new(batch)
	if !p.archive {
		p.insts = nil
	}
	if len(p.names) == 0 || !p.needsPMID() {
		return b, "", nil
	}
	if b.ids, err = pcptool.Lookup(p.ctx, p.pc, p.names); err != nil {
		return nil, "pmLookupName", err
	}
	if p.values || p.labels || p.verify {
		if err := p.command.FetchAtOrigin(p.ctx, p.pc, b.ids, &b.values); err != nil {
			return nil, "pmFetch", err
		}
	}
	if p.needsDesc() {
		b.descs, b.descErr = p.pc.Descs(p.ctx, b.ids)
	}
	if p.oneLine {
		b.oneLines = p.requestTexts(b.ids, pdu.TextOneLine)
	}
	if p.help {
		b.helps = p.requestTexts(b.ids, pdu.TextHelp)
	}
	if p.labels || p.series {
		// Metrics have no labels if the request fails.
		if b.labels, _ = p.pc.ItemLabelSets(p.ctx, b.ids); b.labels == nil {
			b.labels = make([]pdu.LabelSet, len(b.ids))
		}
	}
	return b, "", nil
}

// A helpText is the help text of a metric, or the error of the request for it.
type helpText struct {
	Text string
	Err  error
}

// requestTexts requests the help texts of metrics. If the request fails, each has its error.
func (p *printer) requestTexts(ids []pdu.PMID, kind pdu.TextKind) []helpText {
	texts, err := p.pc.Texts(p.ctx, ids, kind)
	list := make([]helpText, len(ids))
	for i := range list {
		if list[i].Err = pmapi.ErrorAt(err, i); texts != nil {
			list[i].Text = texts[i]
		}
	}
	return list
}

func (s *show) needsDesc() bool { return s.descs || s.values || s.labels || s.series || s.verify }

func (s *show) needsPMID() bool { return s.needsDesc() || s.pmid || s.oneLine || s.help }

// fetchByInstances fetches a metric that has values only for a profile that lists its instances. It
// returns the message of an error, empty for success.
func (p *printer) fetchByInstances(d pdu.Desc, r *pdu.Result) (message string) {
	insts, err := p.pc.Instances(p.ctx, d.InDom)
	switch {
	case err != nil:
		return "pmGetIndom: " + pcptool.Cause(err).Error()
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
		err = p.command.FetchAtOrigin(p.ctx, p.pc, []pdu.PMID{d.PMID}, r)
	}
	if err != nil {
		return "pmFetch: " + pcptool.Cause(err).Error()
	}
	return ""
}

// instances returns the instances of a domain, none if the request fails. They are requested once
// in a batch, and in an archive once for adjacent metrics of the domain.
func (p *printer) instances(d pdu.InDom) instances {
	in, ok := p.insts[d]
	if !ok {
		in.list, _ = p.pc.Instances(p.ctx, d)
		in.names = pcptool.NewInstanceNames(in.list)
		if p.insts == nil || p.archive {
			p.insts = map[pdu.InDom]instances{}
		}
		p.insts[d] = in
	}
	return in
}

// instances are the instances of a domain, in its order and by number.
type instances struct {
	list  []pdu.Instance
	names pcptool.InstanceNames
}
