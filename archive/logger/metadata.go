package logger

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A described notes which metadata the archive has.
type described struct {
	metrics map[pdu.PMID]bool
	texts   map[textKey]bool
	labels  map[labelKey][]pdu.LabelSet       // the latest that were written
	insts   map[pdu.InDom]map[pdu.InstID]bool // instances whose labels were requested
	indoms  map[pdu.InDom]*indom
}

type textKey struct {
	kind  pdu.TextKind
	ident uint32
}

type labelKey struct {
	class pdu.LabelClass
	ident uint32
}

func (d *described) init() {
	d.metrics, d.texts = map[pdu.PMID]bool{}, map[textKey]bool{}
	d.labels, d.indoms = map[labelKey][]pdu.LabelSet{}, map[pdu.InDom]*indom{}
	d.insts = map[pdu.InDom]map[pdu.InstID]bool{}
}

// session notes the metrics of the first record.
func (d *described) session(w *archive.Writer) {
	for _, id := range []pdu.PMID{pdu.MakePMID(2, 3, 3), pdu.MakePMID(2, 3, 0), pdu.MakePMID(2, 3, 2), pdu.MakePMID(2, 0, 23), pdu.MakePMID(2, 0, 24)} {
		_, d.metrics[id] = w.Metric(id)
	}
}

// A metricText has the help texts of a metric, their errors, and the labels of the metric.
type metricText struct {
	line, help       string
	lineErr, helpErr error
	labels           pdu.LabelSet
}

// groupTexts has the help texts and labels of the metrics of a group.
type groupTexts struct {
	index  map[pdu.PMID]int
	lines  []string
	helps  []string
	labels []pdu.LabelSet

	lineErr, helpErr error
}

// requestTexts requests the texts and labels of metrics together.
func (l *Logger) requestTexts(ctx context.Context, ids []pdu.PMID) (*groupTexts, error) {
	t := &groupTexts{index: map[pdu.PMID]int{}}
	var want []pdu.PMID
	for _, id := range ids {
		if !l.meta.metrics[id] {
			t.index[id] = len(want)
			want = append(want, id)
		}
	}
	if t.lines, t.lineErr = l.src.Texts(ctx, want, pdu.TextOneLine); l.isLost(ctx, t.lineErr) {
		return nil, &sourceError{t.lineErr}
	}
	if t.helps, t.helpErr = l.src.Texts(ctx, want, pdu.TextHelp|pdu.TextDirect); l.isLost(ctx, t.helpErr) {
		return nil, &sourceError{t.helpErr}
	}
	var err error
	if t.labels, err = l.src.ItemLabelSets(ctx, want); l.isLost(ctx, err) {
		return nil, &sourceError{err}
	}
	return t, nil
}

func (t *groupTexts) of(id pdu.PMID) (m metricText) {
	i := t.index[id]
	m.lineErr, m.helpErr = pmapi.ErrorAt(t.lineErr, i), pmapi.ErrorAt(t.helpErr, i)
	if t.lines != nil {
		m.line = t.lines[i]
	}
	if t.helps != nil {
		m.help = t.helps[i]
	}
	m.labels = pdu.LabelSet{Inst: pdu.NoInst}
	if t.labels != nil {
		m.labels = t.labels[i]
	}
	return m
}

// describeMetric writes the descriptor, the labels and the help texts of a metric.
func (l *Logger) describeMetric(ctx context.Context, g *group, m *metric, s pdu.ValueSet, t time.Time, texts metricText) error {
	if err := l.writeDesc(ctx, m.desc, m.requested); err != nil {
		return err
	}
	id := m.desc.PMID
	if err := l.describeLabels(ctx, g, m, s, t, texts.labels); err != nil {
		return err
	}
	if texts.lineErr == nil {
		if err := l.writeText(pdu.TextOneLine|pdu.TextPMID, uint32(id), texts.line); err != nil {
			return err
		}
	}
	if err := l.indomText(ctx, m.desc.InDom, pdu.TextOneLine); err != nil {
		return err
	}
	if texts.helpErr == nil {
		if err := l.writeText(pdu.TextHelp|pdu.TextPMID, uint32(id), texts.help); err != nil {
			return err
		}
	}
	return l.indomText(ctx, m.desc.InDom, pdu.TextHelp)
}

// writeDesc writes a descriptor with all names of the metric. These include the requested names
// that the collector does not return, because an agent can have a name for a metric of another
// agent.
func (l *Logger) writeDesc(ctx context.Context, desc pdu.Desc, requested []string) error {
	names, err := l.src.Names(ctx, desc.PMID)
	if l.isLost(ctx, err) {
		return &sourceError{err}
	}
	for _, name := range requested {
		if !slices.Contains(names, name) {
			names = append(slices.Clip(names), name)
		}
	}
	if id := desc.PMID; len(names) == 0 { // a parameter of events
		names = []string{fmt.Sprintf("event_param.D%d.C%d.I%d", id.Domain(), id.Cluster(), id.Item())}
	}
	l.meta.metrics[desc.PMID] = true
	desc.PMID = logged(desc.PMID)
	if err := l.w.WriteMetric(archive.Metric{Desc: desc, Names: names}); err != nil {
		return err
	}
	return nil
}

func (l *Logger) writeText(kind pdu.TextKind, ident uint32, text string) error {
	key := textKey{kind, ident}
	if l.meta.texts[key] {
		return nil
	}
	l.meta.texts[key] = true
	if kind&pdu.TextPMID != 0 {
		ident = uint32(logged(pdu.PMID(ident)))
	}
	return l.w.WriteText(archive.TextRecord{Kind: kind, Ident: ident, Text: text})
}

// indomText writes a help text of an instance domain.
func (l *Logger) indomText(ctx context.Context, d pdu.InDom, kind pdu.TextKind) error {
	if d == pdu.NoInDom || l.meta.texts[textKey{kind | pdu.TextInDom, uint32(d)}] {
		return nil
	}
	text, err := l.src.InDomText(ctx, d, kind|pdu.TextDirect)
	switch {
	case l.isLost(ctx, err):
		return &sourceError{err}
	case err != nil:
		l.meta.texts[textKey{kind | pdu.TextInDom, uint32(d)}] = true
		return nil
	}
	return l.writeText(kind|pdu.TextInDom, uint32(d), text)
}

// describeLabels writes those labels of a metric that the archive does not have yet.
func (l *Logger) describeLabels(ctx context.Context, g *group, m *metric, s pdu.ValueSet, t time.Time, item pdu.LabelSet) error {
	id, d := m.desc.PMID, m.desc.InDom
	cluster := uint32(id) &^ (1<<10 - 1)
	steps := []struct {
		key labelKey
		get func() (pdu.LabelSet, error)
	}{
		{labelKey{pdu.LabelContext, ^uint32(0)}, func() (pdu.LabelSet, error) { return l.src.ContextLabels(ctx) }},
		{labelKey{pdu.LabelDomain, uint32(id.Domain())}, func() (pdu.LabelSet, error) { return l.src.DomainLabels(ctx, id.Domain()) }},
		{labelKey{pdu.LabelInDom, uint32(d)}, func() (pdu.LabelSet, error) { return l.src.InDomLabels(ctx, d) }},
		{labelKey{pdu.LabelCluster, cluster}, func() (pdu.LabelSet, error) { return l.src.ClusterLabels(ctx, id) }},
		{labelKey{pdu.LabelItem, uint32(id)}, func() (pdu.LabelSet, error) { return item, nil }},
	}
	for _, step := range steps {
		if _, known := l.meta.labels[step.key]; known || step.key.class == pdu.LabelInDom && d == pdu.NoInDom {
			continue
		}
		set, err := step.get()
		if l.isLost(ctx, err) {
			return &sourceError{err}
		}
		var sets []pdu.LabelSet
		if err == nil && len(set.JSON) > 0 {
			sets = []pdu.LabelSet{set}
		}
		if err := l.writeLabels(step.key, t, sets); err != nil {
			return err
		}
	}
	if d == pdu.NoInDom {
		return nil
	}
	if l.meta.insts[d] != nil {
		return nil
	}
	l.meta.insts[d] = map[pdu.InstID]bool{}
	l.meta.areNew(d, s)
	return l.instanceLabels(ctx, d, t, g.profile)
}

// areNew reports whether any instance of s has had no value before, and notes the instances of s.
func (d *described) areNew(id pdu.InDom, s pdu.ValueSet) (areNew bool) {
	for i := range s.Len() {
		if inst := s.Inst(i); !d.insts[id][inst] {
			d.insts[id][inst] = true
			areNew = true
		}
	}
	return areNew
}

// instanceLabels writes the labels of the instances that p selects, which is the profile of the
// last fetch. If p is nil, it writes those of the instances that have had values. The record also
// has the labels of other instances that were written before, because a reader uses only the latest
// record.
func (l *Logger) instanceLabels(ctx context.Context, d pdu.InDom, t time.Time, p *pdu.Profile) error {
	l.src.SetProfile(p) // agents may or may not omit the labels of other instances, as with pmlogger
	all, err := l.src.InstanceLabels(ctx, d)
	l.src.SetProfile(nil)
	if l.isLost(ctx, err) {
		return &sourceError{err}
	}
	key := labelKey{pdu.LabelInstances, uint32(d)}
	var sets []pdu.LabelSet
	for _, s := range all {
		if s.Err == 0 && (p != nil || l.meta.insts[d][s.Inst]) {
			sets = append(sets, s)
		}
	}
	for _, s := range l.meta.labels[key] {
		isNew := func(n pdu.LabelSet) bool { return n.Inst == s.Inst }
		if !slices.ContainsFunc(sets, isNew) && l.meta.hasInstance(d, s.Inst) {
			sets = append(sets, s)
		}
	}
	return l.writeLabels(key, t, sets)
}

// hasInstance reports whether the latest record of a domain has an instance.
func (d *described) hasInstance(id pdu.InDom, inst pdu.InstID) bool {
	in := d.indoms[id]
	return in != nil && in.ids[inst]
}

// writeLabels writes label sets if they differ from those that were written last.
func (l *Logger) writeLabels(key labelKey, t time.Time, sets []pdu.LabelSet) error {
	last, known := l.meta.labels[key]
	if known && hasSets(last, sets) {
		return nil
	}
	l.meta.labels[key] = cloneSets(sets)
	if len(sets) == 0 {
		return nil
	}
	ident := key.ident
	if key.class == pdu.LabelItem {
		ident = uint32(logged(pdu.PMID(ident)))
	}
	return l.w.WriteLabels(archive.LabelRecord{Time: t, Class: key.class, Ident: ident, Sets: sets})
}

// hasSets reports whether all contains each label set of some.
func hasSets(all, some []pdu.LabelSet) bool {
	return !slices.ContainsFunc(some, func(s pdu.LabelSet) bool {
		return !slices.ContainsFunc(all, func(a pdu.LabelSet) bool { return a.Inst == s.Inst && bytes.Equal(a.JSON, s.JSON) })
	})
}

func cloneSets(sets []pdu.LabelSet) []pdu.LabelSet {
	c := make([]pdu.LabelSet, len(sets))
	for i, s := range sets {
		c[i] = pdu.LabelSet{Inst: s.Inst, JSON: bytes.Clone(s.JSON)}
	}
	return c
}

// labelsChanged requests again all labels that were requested before, and writes those that have
// changed.
func (l *Logger) labelsChanged(ctx context.Context, t time.Time) error {
	var items []pdu.PMID
	for _, key := range slices.SortedFunc(maps.Keys(l.meta.labels), compareKeys) {
		var set pdu.LabelSet
		var err error
		switch key.class {
		case pdu.LabelContext:
			set, err = l.src.ContextLabels(ctx)
		case pdu.LabelDomain:
			set, err = l.src.DomainLabels(ctx, pdu.Domain(key.ident))
		case pdu.LabelInDom:
			set, err = l.src.InDomLabels(ctx, pdu.InDom(key.ident))
		case pdu.LabelCluster:
			set, err = l.src.ClusterLabels(ctx, pdu.PMID(key.ident))
		case pdu.LabelItem:
			items = append(items, pdu.PMID(key.ident))
			continue
		default:
			if err := l.instanceLabels(ctx, pdu.InDom(key.ident), t, nil); err != nil {
				return err
			}
			continue
		}
		if err := l.rewriteLabels(ctx, key, t, set, err); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		return nil
	}
	sets, err := l.src.ItemLabelSets(ctx, items)
	if l.isLost(ctx, err) {
		return &sourceError{err}
	}
	for i, set := range sets {
		if err := l.rewriteLabels(ctx, labelKey{pdu.LabelItem, uint32(items[i])}, t, set, nil); err != nil {
			return err
		}
	}
	return nil
}

func compareKeys(a, b labelKey) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.ident, b.ident))
}

// rewriteLabels writes a label set if it has labels and differs from the one that was written last.
func (l *Logger) rewriteLabels(ctx context.Context, key labelKey, t time.Time, set pdu.LabelSet, err error) error {
	switch {
	case l.isLost(ctx, err):
		return &sourceError{err}
	case err != nil || len(set.JSON) == 0:
		return nil
	}
	return l.writeLabels(key, t, []pdu.LabelSet{set})
}

// describeParams writes the descriptors of the parameters of event records.
func (l *Logger) describeParams(ctx context.Context, m *metric, s pdu.ValueSet) error {
	for _, a := range s.All(m.desc.Type) {
		events, err := a.Events()
		if err != nil {
			continue // the value is recorded as it is
		}
		for r := range events.All() {
			for id, v := range r.Params() {
				if l.meta.metrics[id] {
					continue
				}
				if err := l.describeParam(ctx, id, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// describeParam writes the descriptor of one parameter.
func (l *Logger) describeParam(ctx context.Context, id pdu.PMID, v pdu.Atom) error {
	desc, err := l.src.Desc(ctx, id)
	if l.isLost(ctx, err) {
		return &sourceError{err}
	}
	if err != nil {
		desc = pdu.Desc{PMID: id, Type: pdu.TypeAggregate, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	}
	return l.writeDesc(ctx, desc, nil)
}
