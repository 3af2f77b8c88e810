package archive

import (
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Metadata has everything except values in an archive or a set of archives: descriptors, names,
// instance domains, labels and help texts. It does not change and is safe for concurrent use.
type Metadata struct {
	metrics []Metric
	byPMID  map[pdu.PMID]int32 // index into metrics
	indoms  ordered[pdu.InDom, *InDom]
	labels  ordered[labelKey, *Labels]
	texts   ordered[textKey, TextRecord]
	many    map[int32]map[string]bool // names of metrics with more than fewNames, while loading
	later   []laterName               // in the order of the archive; nil for several

	named sync.Once
	names *pmns.Tree
}

// A laterName is a name that an archive adds to a metric that it has described before.
type laterName struct {
	metric int32 // index into metrics
	before int32 // number of metrics at that time
	name   string
}

type labelKey struct {
	class pdu.LabelClass
	ident uint32
}

type textKey struct {
	kind  pdu.TextKind
	ident uint32
}

// An ordered is a map that yields its values in the order of the first set of each key.
type ordered[K comparable, V any] struct {
	values []V
	index  map[K]int32
}

func (o *ordered[K, V]) get(k K) (v V, ok bool) {
	i, ok := o.index[k]
	if ok {
		v = o.values[i]
	}
	return v, ok
}

func (o *ordered[K, V]) set(k K, v V) {
	if i, ok := o.index[k]; ok {
		o.values[i] = v
		return
	}
	if o.index == nil {
		o.index = map[K]int32{}
	}
	o.index[k] = int32(len(o.values))
	o.values = append(o.values, v)
}

// Names returns the name space. If several metrics have the same name, it has the first of them.
// The children of a node are in the order of the C library: the latest in the archive comes first.
// The first call makes the name space, and later calls return the same one.
func (m *Metadata) Names() *pmns.Tree {
	m.named.Do(func() {
		b := pmns.Builder{Prepend: true, AnyStart: true}
		add := func(name string, id pdu.PMID) {
			// A name that is invalid or that another metric has is ignored.
			_ = b.Add(name, id)
		}
		later := map[int32]int{} // how many later names a metric has
		for _, l := range m.later {
			later[l.metric]++
		}
		next := m.later
		for i := range m.metrics {
			for len(next) > 0 && int(next[0].before) <= i {
				add(next[0].name, m.metrics[next[0].metric].PMID)
				next = next[1:]
			}
			names := m.metrics[i].Names
			for _, name := range names[:len(names)-later[int32(i)]] {
				add(name, m.metrics[i].PMID)
			}
		}
		for _, l := range next {
			add(l.name, m.metrics[l.metric].PMID)
		}
		m.names = b.Tree()
	})
	return m.names
}

// Desc returns the descriptor of a metric. It is the same at all times.
func (m *Metadata) Desc(id pdu.PMID) (pdu.Desc, bool) {
	i, ok := m.byPMID[id]
	if !ok {
		return pdu.Desc{}, false
	}
	return m.metrics[i].Desc, true
}

// Metrics yields the descriptor and names of every metric, in the order of the archives. The names
// must not be changed.
func (m *Metadata) Metrics() iter.Seq[Metric] { return slices.Values(m.metrics) }

// InDom returns the instance domain d, or nil if the archives do not have it.
func (m *Metadata) InDom(d pdu.InDom) *InDom {
	in, _ := m.indoms.get(d)
	return in
}

// InDoms yields all instance domains, in the order of their first records.
func (m *Metadata) InDoms() iter.Seq[*InDom] { return slices.Values(m.indoms.values) }

// Labels returns the label sets of an identifier over time, or nil if it has no record.
func (m *Metadata) Labels(class pdu.LabelClass, ident uint32) *Labels {
	l, _ := m.labels.get(labelKey{class, ident})
	return l
}

// AllLabels yields the labels of all identifiers, in the order of their first records.
func (m *Metadata) AllLabels() iter.Seq[*Labels] { return slices.Values(m.labels.values) }

// Text returns a help text. kind combines one of pdu.TextOneLine and pdu.TextHelp with one of
// pdu.TextPMID and pdu.TextInDom.
func (m *Metadata) Text(kind pdu.TextKind, ident uint32) (string, bool) {
	t, ok := m.texts.get(textKey{kind, ident})
	return t.Text, ok
}

// Texts yields all help texts, in the order of their first records.
func (m *Metadata) Texts() iter.Seq[TextRecord] { return slices.Values(m.texts.values) }

// addMetric adds a metric. If the metric is known, it must have the same descriptor, and addMetric
// adds its new names.
func (m *Metadata) addMetric(n Metric) error {
	i, known := m.byPMID[n.PMID]
	if !known {
		m.byPMID[n.PMID] = int32(len(m.metrics))
		m.metrics = append(m.metrics, n)
		return nil
	}
	old := &m.metrics[i]
	if err := old.sameDesc(n.Desc); err != nil {
		return err
	}
	if len(old.Names)+len(n.Names) > fewNames {
		m.addManyNames(i, n.Names)
		return nil
	}
	for _, name := range n.Names {
		if !slices.Contains(old.Names, name) {
			old.Names = append(slices.Clip(old.Names), name)
			m.addLater(i, name)
		}
	}
	return nil
}

// fewNames is the number of names of a metric that are compared one by one. More names are put into
// a map.
const fewNames = 16

// addManyNames adds names to metric i, which will have more than a few.
func (m *Metadata) addManyNames(i int32, names []string) {
	old := &m.metrics[i]
	has := m.many[i]
	if has == nil {
		has = make(map[string]bool, len(old.Names)+len(names))
		for _, name := range old.Names {
			has[name] = true
		}
		if m.many == nil {
			m.many = map[int32]map[string]bool{}
		}
		m.many[i] = has
		old.Names = slices.Clone(old.Names)
	}
	for _, name := range names {
		if !has[name] {
			has[name] = true
			old.Names = append(old.Names, name)
			m.addLater(i, name)
		}
	}
}

// addLater notes that a name was added to metric i.
func (m *Metadata) addLater(i int32, name string) {
	m.later = append(m.later, laterName{i, int32(len(m.metrics)), name})
}

// sameDesc checks that a metric has not changed.
func (m *Metric) sameDesc(b pdu.Desc) error {
	a := m.Desc
	change := func(code pdu.Error, what string, was, is any) error {
		name := a.PMID.String()
		if len(m.Names) > 0 {
			name = m.Names[0] + " (" + name + ")"
		}
		return flawed(code, "metric %s: %s was %v, is %v", name, what, was, is)
	}
	switch {
	case a.Type != b.Type:
		return change(pdu.ErrLogChangeType, "type", a.Type, b.Type)
	case a.Sem != b.Sem:
		return change(pdu.ErrLogChangeSem, "semantics", a.Sem, b.Sem)
	case a.InDom != b.InDom:
		return change(pdu.ErrLogChangeInDom, "instance domain", a.InDom, b.InDom)
	case a.Units != b.Units:
		return change(pdu.ErrLogChangeUnits, "units", fmt.Sprintf("%q", a.Units), fmt.Sprintf("%q", b.Units))
	}
	return nil
}

// mergeMetadata merges the metadata of several archives, in the order of time. If all[i]
// contradicts earlier ones, it returns i and an error.
func mergeMetadata(all []*Metadata) (m *Metadata, i int, err error) {
	if len(all) == 1 {
		return all[0], 0, nil
	}
	m = &Metadata{byPMID: map[pdu.PMID]int32{}}
	for i, a := range all {
		for _, n := range a.metrics {
			if err := m.addMetric(n); err != nil {
				return nil, i, err
			}
		}
		for _, d := range a.indoms.values {
			m.indoms.set(d.ID, mergeInDoms(m.InDom(d.ID), d))
		}
		for _, l := range a.labels.values {
			m.labels.set(labelKey{l.Class, l.Ident}, mergeLabels(m.Labels(l.Class, l.Ident), l))
		}
		for _, t := range a.texts.values {
			m.texts.set(textKey{t.Kind, t.Ident}, t)
		}
	}
	m.many, m.later = nil, nil
	return m, 0, nil
}
