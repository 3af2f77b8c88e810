package logrewrite

import (
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// writeNewLabels writes the labels that rules add, before all else. They are of the time of the first data record.
func (c *copier) writeNewLabels(t time.Time) error {
	for _, s := range slices.Backward(c.labels) {
		if !s.extended {
			continue
		}
		set := s.added
		set.Inst = s.newInst
		l := archive.LabelRecord{Time: c.at(t), Class: s.key.class, Ident: s.ident, Sets: []pdu.LabelSet{set}}
		if err := c.putLabels(l); err != nil {
			return err
		}
		c.needEntry = true
	}
	return nil
}

// copyLabels copies label sets, changed. As in PCP, each set or label that a rule changes goes to a record of its own.
func (c *copier) copyLabels(r *archive.Record) error {
	l, err := r.Labels()
	if err != nil {
		return &ReadError{true, err}
	}
	key := labelKey{l.Class, l.Ident}
	changed := false
	for _, s := range slices.Backward(c.labels) {
		if s.key != key || !s.changes() || s.extended && !s.changesOld() {
			continue
		}
		changed = true
		if err := c.rewriteLabels(&l, s); err != nil {
			return err
		}
	}
	switch {
	case len(l.Sets) == 0 && changed:
		return nil
	case !changed && c.shift == 0 && (c.version == 3) == (r.Type == archive.TypeLabels):
		c.traceLabels(l)
		return c.w.WriteRecord(r)
	}
	l.Time = c.at(l.Time)
	return c.putLabels(l)
}

// changesOld reports whether a spec changes labels that there are.
func (s *labelSpec) changesOld() bool {
	return s.moved || s.instMoved || s.renamed || s.revalued || s.deleted
}

// rewriteLabels changes the sets of a record. What it takes out it writes.
func (c *copier) rewriteLabels(l *archive.LabelRecord, s *labelSpec) error {
	if s.label != nil || s.value != "" {
		return c.extractLabels(l, s)
	}
	kept := make([]pdu.LabelSet, 0, len(l.Sets))
	for _, set := range l.Sets {
		if s.key.class == pdu.LabelInstances && s.inst != pdu.NoInst && set.Inst != s.inst {
			kept = append(kept, set)
			continue
		}
		if s.deleted {
			continue
		}
		if s.instMoved {
			set.Inst = s.newInst
		}
		if s.renamed || s.revalued {
			set = s.change(set)
		}
		if !s.moved && !s.renamed && !s.revalued {
			kept = append(kept, set)
			continue
		}
		if err := c.writeLabels(l, s, set); err != nil {
			return err
		}
	}
	l.Sets = kept
	return nil
}

// writeLabels writes one set of a record to a record of its own.
func (c *copier) writeLabels(l *archive.LabelRecord, s *labelSpec, set pdu.LabelSet) error {
	return c.putLabels(archive.LabelRecord{Time: c.at(l.Time), Class: l.Class, Ident: s.ident, Sets: []pdu.LabelSet{set}})
}

// change gives all labels of a set another name or value.
func (s *labelSpec) change(set pdu.LabelSet) pdu.LabelSet {
	b := newSetBuilder(set)
	for label := range set.All() {
		if s.renamed {
			label.Name = s.newLabel
		}
		if s.revalued {
			label.Value = s.newValue
		}
		b.add(label)
	}
	return b.set()
}

// extractLabels takes labels of a name or a value out of the sets of a record.
func (c *copier) extractLabels(l *archive.LabelRecord, s *labelSpec) error {
	kept := make([]pdu.LabelSet, 0, len(l.Sets))
	for _, set := range l.Sets {
		if s.key.class == pdu.LabelInstances && s.inst != pdu.NoInst && set.Inst != s.inst {
			kept = append(kept, set)
			continue
		}
		rest, found := newSetBuilder(set), false
		for label := range set.All() {
			if s.label != nil && *s.label != label.Name || s.value != "" && s.value != label.Value {
				rest.add(label)
				continue
			}
			found = true
			if s.deleted {
				continue
			}
			if err := c.writeLabels(l, s, s.extracted(set, label)); err != nil {
				return err
			}
		}
		switch {
		case len(rest.labels) == 0 && set.Err == 0: // also if there were none
		case !found:
			kept = append(kept, set)
		default:
			kept = append(kept, rest.set())
		}
	}
	l.Sets = kept
	return nil
}

// extracted is a set of one label that was taken out of another set.
func (s *labelSpec) extracted(from pdu.LabelSet, label pdu.NamedLabel) pdu.LabelSet {
	b := newSetBuilder(from)
	if s.instMoved {
		b.inst = s.newInst
	}
	if s.renamed {
		label.Name = s.newLabel
	}
	if s.revalued {
		label.Value = s.newValue
	}
	label.Flags &^= pdu.LabelCompound
	b.add(label)
	return b.set()
}

// A setBuilder makes a label set of labels in any order, even with the same name.
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
