package archive

import (
	"cmp"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// WriteMetric writes the descriptor and names of a metric. It writes a known metric again only if m
// has new names. If a known metric has a different descriptor, the error is pdu.ErrLogChangeType,
// ErrLogChangeSem, ErrLogChangeInDom or ErrLogChangeUnits.
func (w *Writer) WriteMetric(m Metric) error {
	known := w.metrics[m.PMID]
	if known != nil {
		if err := known.sameDesc(m.Desc); err != nil {
			return w.wrap(err)
		}
		if !slices.ContainsFunc(m.Names, func(name string) bool { return !slices.Contains(known.Names, name) }) {
			return nil
		}
	}
	b, err := appendMetric(w.pending, &m)
	if err != nil {
		return w.wrap(err)
	}
	w.pending, w.described = b, w.described || !w.opts.IndexInstances
	w.know(m)
	return nil
}

// know notes a metric that the metadata has.
func (w *Writer) know(m Metric) {
	known := w.metrics[m.PMID]
	if known == nil {
		m.Names = slices.Clone(m.Names)
		w.metrics[m.PMID] = &m
		return
	}
	for _, name := range m.Names {
		if !slices.Contains(known.Names, name) {
			known.Names = append(known.Names, name)
		}
	}
}

// WriteInDom writes a record of an instance domain unchanged; see also UpdateInDom. A delta in
// version 2 is pdu.ErrLogRec.
func (w *Writer) WriteInDom(d InDomRecord) error {
	b, err := appendInDom(w.pending, w.label.Version, &d)
	if err != nil {
		return w.wrap(err)
	}
	w.pending, w.described = b, true
	w.remember(&d)
	return nil
}

// remember notes the instances of a domain as they are after a record.
func (w *Writer) remember(d *InDomRecord) {
	switch {
	case d.Delta:
		w.indoms[d.InDom] = afterDelta(w.indoms[d.InDom], d)
	case len(d.Instances) > 0: // readers ignore a record without instances
		all := slices.Clone(d.Instances)
		sortInstances(all)
		w.indoms[d.InDom] = all
	}
}

// afterDelta returns the instances after a delta.
func afterDelta(before []pdu.Instance, d *InDomRecord) []pdu.Instance {
	at := make(map[pdu.InstID]string, len(before)+len(d.Instances))
	for _, i := range d.Instances {
		at[i.ID] = i.Name
	}
	for _, i := range before {
		at[i.ID] = i.Name
	}
	for _, id := range d.Deleted {
		delete(at, id)
	}
	after := make([]pdu.Instance, 0, len(at))
	for id, name := range at {
		after = append(after, pdu.Instance{ID: id, Name: name})
	}
	sortInstances(after)
	return after
}

// UpdateInDom records all instances of a domain if they differ from those of the last record. It
// reports whether there is a new record. In version 3 the record is a delta, unless DeltaInDom
// reports false. An empty list is not recorded, because readers take it for no change.
func (w *Writer) UpdateInDom(t time.Time, id pdu.InDom, instances []pdu.Instance) (changed bool, err error) {
	last, known := w.indoms[id]
	if len(instances) == 0 || known && slices.Equal(last, instances) {
		return false, nil
	}
	d := InDomRecord{Time: t, InDom: id, Instances: instances}
	if !ascending(instances) {
		d.Instances = slices.Clone(instances)
		sortInstances(d.Instances)
		if known && slices.Equal(last, d.Instances) {
			return false, nil
		}
	}
	if known && w.label.Version > 2 {
		if delta, ok := DeltaInDom(last, d.Instances); ok {
			delta.Time, delta.InDom = t, id
			d = delta
		}
	}
	if err := w.WriteInDom(d); err != nil {
		return false, err
	}
	return true, nil
}

func ascending(s []pdu.Instance) bool {
	return slices.IsSortedFunc(s, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
}

// DeltaInDom returns the delta between two lists of instances, both ascending by ID. Its Time and
// InDom are not set. ok reports whether to write the delta instead of all instances: the lists
// differ, no instance has a different name, and the delta has at most as many entries as after. If
// ok is false, the delta may be incomplete.
func DeltaInDom(before, after []pdu.Instance) (d InDomRecord, ok bool) {
	d.Delta = true
	all := len(after)
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(before) == 0 || len(after) > 0 && after[0].ID < before[0].ID:
			d.Instances, after = append(d.Instances, after[0]), after[1:]
		case len(after) == 0 || before[0].ID < after[0].ID:
			d.Deleted, before = append(d.Deleted, before[0].ID), before[1:]
		case before[0].Name != after[0].Name:
			return d, false
		default:
			before, after = before[1:], after[1:]
		}
	}
	changed := len(d.Instances) + len(d.Deleted)
	return d, changed > 0 && changed <= all
}

// WriteLabels writes label sets. From l.Time on they replace those of the same class and
// identifier.
func (w *Writer) WriteLabels(l LabelRecord) error {
	b, err := appendLabels(w.pending, w.label.Version, &l)
	if err != nil {
		return w.wrap(err)
	}
	w.pending = b
	return nil
}

// WriteText writes a help text. It replaces an earlier one of the same kind and identifier.
func (w *Writer) WriteText(t TextRecord) error {
	b, err := appendText(w.pending, &t)
	if err != nil {
		return w.wrap(err)
	}
	w.pending = b
	return nil
}
