package logrewrite

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// writeNewLabels writes the new labels of subjects that have no labels up to time t, that of the
// first data record. For other subjects, addLabels adds them to the existing sets.
func (c *copier) writeNewLabels(t time.Time) error {
	for _, s := range slices.Backward(c.labels) {
		if !s.extended || c.hasLabels(s.key, t) {
			continue
		}
		set := s.added
		set.Inst = s.newInst
		l := archive.LabelRecord{Time: c.at(t), Class: s.key.class, Ident: s.ident, Sets: []pdu.LabelSet{set}}
		if err := c.w.WriteLabels(l); err != nil {
			return err
		}
		c.needEntry = true
	}
	return nil
}

// hasLabels reports whether the archive has labels of key up to a time.
func (c *copier) hasLabels(key labelKey, until time.Time) bool {
	l := c.archive.Metadata().Labels(key.class, key.ident)
	return l != nil && !l.Record(0).Time.After(until)
}

// copyLabels copies label sets with their changes. A set whose labels change stays in its record.
// Labels that move to another subject go to one record for each subject. PCP 6.0.3 writes each
// changed label to a separate record of the same time, and readers see only one.
func (c *copier) copyLabels(r *archive.Record) error {
	l, err := r.Labels()
	if err != nil {
		return &ReadError{true, err}
	}
	key := labelKey{l.Class, l.Ident}
	changed := false
	var moved []archive.LabelRecord
	for _, s := range slices.Backward(c.labels) {
		if s.key != key || !s.changes() {
			continue
		}
		changed = true
		if s.extended {
			if err := s.addLabels(&l); err != nil {
				return err
			}
		}
		if s.changesOld() {
			if moved, err = s.changeSets(&l, moved); err != nil {
				return err
			}
		}
	}
	for _, m := range moved {
		m.Time = c.at(m.Time)
		if err := c.w.WriteLabels(m); err != nil {
			return err
		}
	}
	switch {
	case len(l.Sets) == 0 && changed:
		return nil
	case !changed && c.shift == 0 && c.version == r.Version:
		return c.w.WriteRecord(r)
	}
	l.Time = c.at(l.Time)
	return c.w.WriteLabels(l)
}

// changesOld reports whether a spec changes existing labels.
func (s *labelSpec) changesOld() bool {
	return s.moved || s.instMoved || s.renamed || s.revalued || s.deleted
}

// addLabels adds the new labels of a spec to the sets of a record.
func (s *labelSpec) addLabels(l *archive.LabelRecord) error {
	set := s.added
	set.Inst = s.inst
	return s.addSet(l, set)
}

// addSet adds a set to a record, or its labels to a set of the same instance.
func (s *labelSpec) addSet(l *archive.LabelRecord, set pdu.LabelSet) error {
	for i := range l.Sets {
		if l.Sets[i].Inst != set.Inst {
			continue
		}
		merged, err := pdu.MergeLabels(nil, l.Sets[i], set)
		if err != nil {
			return fmt.Errorf("logrewrite: %s: %w", s.of(), err)
		}
		l.Sets[i] = merged
		return nil
	}
	l.Sets = append(l.Sets, set)
	return nil
}

// changeSets changes the sets of a record. It adds labels that move to another subject to the
// records in moved.
func (s *labelSpec) changeSets(l *archive.LabelRecord, moved []archive.LabelRecord) ([]archive.LabelRecord, error) {
	kept := make([]pdu.LabelSet, 0, len(l.Sets))
	var gone []pdu.LabelSet // to another subject or instance
	for _, set := range l.Sets {
		rest, changed := s.changeSet(set)
		if rest != nil {
			kept = append(kept, *rest)
		}
		if changed != nil {
			gone = append(gone, *changed)
		}
	}
	l.Sets = kept
	to := l
	if s.moved {
		i := slices.IndexFunc(moved, func(m archive.LabelRecord) bool { return m.Ident == s.ident })
		if i < 0 && len(gone) > 0 {
			i = len(moved)
			moved = append(moved, archive.LabelRecord{Time: l.Time, Class: l.Class, Ident: s.ident})
		}
		if i >= 0 {
			to = &moved[i]
		}
	}
	for _, set := range gone {
		if err := s.addSet(to, set); err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// changeSet changes one set. rest remains, and gone moves to another subject or instance. Each is
// nil if it is empty.
func (s *labelSpec) changeSet(set pdu.LabelSet) (rest, gone *pdu.LabelSet) {
	if s.key.class == pdu.LabelInstances && s.inst != pdu.NoInst && set.Inst != s.inst {
		return &set, nil
	}
	stay, move, found := newSetBuilder(set), newSetBuilder(set), s.label == nil && s.value == ""
	all := found
	for label := range set.All() {
		switch {
		case s.label != nil && *s.label != label.Name || s.value != "" && s.value != label.Value:
			stay.add(label)
			continue
		case s.renamed:
			label.Name = s.newLabel
		}
		if s.revalued {
			label.Value = s.newValue
		}
		found = true
		switch {
		case s.deleted:
		case s.moved || s.instMoved:
			move.add(label)
		default:
			stay.add(label)
		}
	}
	if s.instMoved {
		move.inst = s.newInst
	}
	switch {
	case !found:
		return &set, nil
	case s.deleted && all:
		return nil, nil
	case s.moved || s.instMoved:
		gone = new(move.set())
	}
	if len(stay.labels) > 0 || gone == nil && !s.deleted || set.Err != 0 && !all {
		rest = new(stay.set())
	}
	return rest, gone
}

// A setBuilder makes a label set from labels in any order, even with equal names.
type setBuilder struct {
	inst   pdu.InstID
	err    pdu.Error
	json   []byte
	labels []pdu.Label
}

func newSetBuilder(like pdu.LabelSet) *setBuilder { return &setBuilder{inst: like.Inst, err: like.Err} }

func (b *setBuilder) add(l pdu.NamedLabel) {
	if len(b.json) == 0 {
		b.json = append(b.json, '{')
	} else {
		b.json = append(b.json, ',')
	}
	label := pdu.Label{NameOff: uint16(len(b.json) + 1), NameLen: uint8(len(l.Name)), Flags: l.Flags}
	b.json = append(append(append(b.json, '"'), l.Name...), `":`...)
	label.ValueOff, label.ValueLen = uint16(len(b.json)), uint16(len(l.Value))
	b.json = append(b.json, l.Value...)
	b.labels = append(b.labels, label)
}

func (b *setBuilder) set() pdu.LabelSet {
	if len(b.json) > 0 {
		b.json = append(b.json, '}')
	}
	return pdu.LabelSet{Inst: b.inst, Err: b.err, JSON: b.json, Labels: b.labels}
}
