package logimport

import (
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// metadata is the help texts and labels of an Importer.
type metadata struct {
	texts   []archive.TextRecord // all, of this and earlier archives
	known   int                  // how many of them the archive has
	seen    map[archive.TextRecord]bool
	pending []*labels // that the archive does not have
}

// labels are the labels of one identifier.
type labels struct {
	class  pdu.LabelClass
	ident  uint32
	inst   pdu.InstID
	byName map[string]any
}

func (m *metadata) empty() bool { return m.known == len(m.texts) && len(m.pending) == 0 }

// again makes all help texts pending, for a new archive.
func (m *metadata) again() { m.known = 0 }

// PutHelp adds a help text for the next Write. kind combines pdu.TextOneLine or pdu.TextHelp with
// pdu.TextPMID or pdu.TextInDom. A later text of the same kind replaces it, but the same text again
// is ErrDupText. Other errors are pdu.ErrText for a text with a NUL, and an [Error] for an empty
// text or an invalid kind or ident. PutHelp is the counterpart of pmiPutText(3).
func (im *Importer) PutHelp(kind pdu.TextKind, ident uint32, text string) error {
	of, class := kind&^(pdu.TextOneLine|pdu.TextHelp), kind&(pdu.TextOneLine|pdu.TextHelp)
	t := archive.TextRecord{Kind: kind, Ident: ident, Text: text}
	switch m := &im.meta; {
	case of != pdu.TextPMID && of != pdu.TextInDom:
		return errBadTextType
	case class != pdu.TextOneLine && class != pdu.TextHelp:
		return errBadTextClass
	case ident == uint32(pdu.NoPMID):
		return errBadTextID
	case text == "":
		return errEmptyText
	case strings.IndexByte(text, 0) >= 0:
		return pdu.ErrText
	case m.seen[t]:
		return ErrDupText
	case m.seen == nil:
		m.seen = map[archive.TextRecord]bool{}
	}
	im.meta.seen[t] = true
	im.meta.texts = append(im.meta.texts, t)
	return nil
}

// PutLabel adds a label for the next Write, and replaces one of the same name. pdu.LabelClass says
// what ident means for the class; inst counts for pdu.LabelInstances. encoding/json encodes the
// value. The labels of one identifier that are written together replace all earlier ones. Invalid
// arguments are an [Error]; an empty name and the values "" and nil are invalid. PutLabel is the
// counterpart of pmiPutLabel(3), whose values are texts.
func (im *Importer) PutLabel(class pdu.LabelClass, ident uint32, inst pdu.InstID, name string, value any) error {
	switch class {
	case pdu.LabelContext:
		ident = uint32(pdu.NoPMID)
	case pdu.LabelDomain, pdu.LabelInDom, pdu.LabelCluster, pdu.LabelItem, pdu.LabelInstances:
		if ident == uint32(pdu.NoPMID) {
			return errBadLabelID
		}
	default:
		return errBadLabelType
	}
	if class != pdu.LabelInstances {
		inst = pdu.NoInst
	} else if inst < 0 {
		return errBadLabelInst
	}
	switch {
	case name == "":
		return errEmptyLabelName
	case value == nil || value == "":
		return errEmptyLabelValue
	}
	l := im.meta.labels(class, ident, inst)
	old, had := l.byName[name]
	l.byName[name] = value
	if _, err := pdu.MakeLabels(class, l.byName, false); err != nil {
		if delete(l.byName, name); had {
			l.byName[name] = old
		}
		return errAddLabel
	}
	if len(l.byName) == 1 && !slices.Contains(im.meta.pending, l) {
		im.meta.pending = append(im.meta.pending, l)
	}
	return nil
}

// labels returns the pending labels of an identifier, or an empty set.
func (m *metadata) labels(class pdu.LabelClass, ident uint32, inst pdu.InstID) *labels {
	for _, l := range m.pending {
		if l.class == class && l.ident == ident && l.inst == inst {
			return l
		}
	}
	return &labels{class, ident, inst, map[string]any{}}
}

// writeMeta writes the pending help texts and labels after the data record of time t, each after
// its metric or domain. It writes nothing before the first record.
func (im *Importer) writeMeta(t time.Time) error {
	m := &im.meta
	if m.empty() || im.w.Last().IsZero() {
		return nil
	}
	described := false
	for _, text := range m.texts[m.known:] {
		wrote, err := im.describeIdent(text.Kind&pdu.TextPMID != 0, text.Kind&pdu.TextInDom != 0, text.Ident, t)
		if err != nil {
			return err
		}
		if err := im.w.WriteText(text); err != nil {
			return err
		}
		described = described || wrote
		m.known++
	}
	if err := im.indexIf(described, t); err != nil {
		return err
	}
	described = false
	for len(m.pending) > 0 {
		l := m.pending[0]
		wrote, err := im.describeIdent(l.class == pdu.LabelItem, l.class == pdu.LabelInDom || l.class == pdu.LabelInstances, l.ident, t)
		if err != nil {
			return err
		}
		set, err := pdu.MakeLabels(l.class, l.byName, false)
		if err != nil {
			return err
		}
		set.Inst = l.inst
		if err := im.w.WriteLabels(archive.LabelRecord{Time: t, Class: l.class, Ident: l.ident, Sets: []pdu.LabelSet{set}}); err != nil {
			return err
		}
		described = described || wrote
		m.pending = m.pending[1:]
	}
	return im.indexIf(described, t)
}

// indexIf writes an index entry if texts or labels brought new metrics or domains.
func (im *Importer) indexIf(described bool, t time.Time) error {
	if !described {
		return nil
	}
	return im.w.FlushIndex(t)
}

// describeIdent writes the metric or domain of a text or label, unless the archive has it, and
// reports whether it wrote anything.
func (im *Importer) describeIdent(isMetric, isInDom bool, ident uint32, t time.Time) (wrote bool, err error) {
	switch {
	case isMetric:
		if m := im.byPMID[pdu.PMID(ident)]; m != nil {
			return !m.known || m.in.isNew(), im.describe(m, t)
		}
	case isInDom:
		d := im.indoms[pdu.InDom(ident)]
		return d.isNew(), im.describeInDom(d, t)
	}
	return false, nil
}
