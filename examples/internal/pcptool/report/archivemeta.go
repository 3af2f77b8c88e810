package report

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

// metadata are the help texts and labels that an archive gets.
type metadata struct {
	texts   []archive.TextRecord
	labels  []archive.LabelRecord // without times
	metrics map[pdu.PMID]bool     // whose labels have been asked for
	labeled map[labelKey]bool     // what has some
}

// labelKey is what labels are of.
type labelKey struct {
	pdu.LabelClass
	ident uint32
}

// findTexts finds the help texts that the options request. It leaves out missing texts and
// failures.
func (r *Report) findTexts(ctx context.Context) {
	r.meta.texts = nil
	if r.opts.Output != OutputArchive || !r.opts.IncludeTexts {
		return
	}
	for i := range r.header.Metrics {
		r.findTextsOf(ctx, &r.header.Metrics[i].Desc)
	}
}

// findLabels finds the labels that the options want of metrics which have values for the first
// time: a source that is an archive may not know of any before.
func (r *Report) findLabels(ctx context.Context, s *Sample) {
	if r.opts.Output != OutputArchive || !r.opts.IncludeLabels {
		return
	}
	if r.meta.metrics == nil {
		r.meta.metrics, r.meta.labeled = map[pdu.PMID]bool{}, map[labelKey]bool{}
	}
	for i, values := range s.Values {
		desc := &r.header.Metrics[i].Desc
		if len(values) > 0 && !r.meta.metrics[desc.PMID] {
			r.meta.metrics[desc.PMID] = true
			r.findLabelsOf(ctx, desc)
		}
	}
}

func (r *Report) findTextsOf(ctx context.Context, d *pdu.Desc) {
	add := func(of pdu.TextKind, ident uint32, text func(pdu.TextKind) (string, error)) {
		for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
			if s, err := text(kind); err == nil && s != "" {
				r.meta.texts = append(r.meta.texts, archive.TextRecord{Kind: kind | of, Ident: ident, Text: s})
			}
		}
	}
	add(pdu.TextPMID, uint32(d.PMID), func(kind pdu.TextKind) (string, error) { return r.pc.Text(ctx, d.PMID, kind) })
	if d.InDom != pdu.NoInDom {
		add(pdu.TextInDom, uint32(d.InDom), func(kind pdu.TextKind) (string, error) { return r.pc.InDomText(ctx, d.InDom, kind) })
	}
}

func (r *Report) findLabelsOf(ctx context.Context, d *pdu.Desc) {
	one := func(set pdu.LabelSet, err error) ([]pdu.LabelSet, error) { return []pdu.LabelSet{set}, err }
	r.addLabelRecord(pdu.LabelContext, uint32(pdu.NoPMID), func() ([]pdu.LabelSet, error) { return one(r.pc.ContextLabels(ctx)) })
	domain := d.PMID.Domain()
	r.addLabelRecord(pdu.LabelDomain, uint32(domain), func() ([]pdu.LabelSet, error) { return one(r.pc.DomainLabels(ctx, domain)) })
	if d.InDom != pdu.NoInDom {
		r.addLabelRecord(pdu.LabelInDom, uint32(d.InDom), func() ([]pdu.LabelSet, error) { return one(r.pc.InDomLabels(ctx, d.InDom)) })
	}
	cluster := pdu.MakePMID(domain, d.PMID.Cluster(), 0)
	r.addLabelRecord(pdu.LabelCluster, uint32(cluster), func() ([]pdu.LabelSet, error) { return one(r.pc.ClusterLabels(ctx, d.PMID)) })
	r.addLabelRecord(pdu.LabelItem, uint32(d.PMID), func() ([]pdu.LabelSet, error) { return one(r.pc.ItemLabels(ctx, d.PMID)) })
	if d.InDom != pdu.NoInDom {
		r.addLabelRecord(pdu.LabelInstances, uint32(d.InDom), func() ([]pdu.LabelSet, error) { return r.pc.InstanceLabels(ctx, d.InDom) })
	}
}

// addLabelRecord adds the labels of an identifier that has some, once.
func (r *Report) addLabelRecord(class pdu.LabelClass, ident uint32, get func() ([]pdu.LabelSet, error)) {
	key := labelKey{class, ident}
	if r.meta.labeled[key] {
		return
	}
	sets, err := get()
	if err != nil {
		return
	}
	sets = slices.DeleteFunc(sets, func(s pdu.LabelSet) bool { return len(s.Labels) == 0 })
	if len(sets) > 0 {
		r.meta.labeled[key] = true
		r.meta.labels = append(r.meta.labels, archive.LabelRecord{Class: class, Ident: ident, Sets: sets})
	}
}

// putTexts enters the help texts.
func (m *metadata) putTexts(im *logimport.Importer) error {
	for _, t := range m.texts {
		if err := im.PutHelp(t.Kind, t.Ident, t.Text); err != nil && !errors.Is(err, logimport.ErrDupText) {
			return err
		}
	}
	m.texts = nil
	return nil
}

// writeLabels writes the labels, for a time.
func (m *metadata) writeLabels(w *archive.Writer, t time.Time) error {
	for _, l := range m.labels {
		l.Time = t
		if err := w.WriteLabels(l); err != nil {
			return err
		}
	}
	m.labels = nil
	return nil
}
