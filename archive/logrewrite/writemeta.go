package logrewrite

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// copyText copies a help text.
func (c *copier) copyText(r *archive.Record) error {
	t, err := r.Text()
	if err != nil {
		return &ReadError{true, err}
	}
	for _, s := range slices.Backward(c.byText[textKey{t.Kind, t.Ident}]) {
		if !s.changes() || s.old.Text != t.Text {
			continue
		}
		if s.deleted {
			return nil
		}
		t.Ident, t.Text = s.ident, s.text
		return c.w.WriteText(t)
	}
	return c.w.WriteRecord(r)
}

// copyMetric copies a descriptor.
func (c *copier) copyMetric(r *archive.Record, m archive.Metric) error {
	s := c.byMetric[m.PMID]
	if s != nil && s.deleted {
		return nil
	}
	plain := s == nil || s.new == s.old && !s.name
	if !plain {
		m.Desc = s.new
		for i, name := range m.Names {
			if s.name && name == s.oldName {
				m.Names[i] = s.newName
			}
		}
	}
	if known, ok := c.w.Metric(m.PMID); ok && (known.Desc != m.Desc || c.archive != c.set.Archives()[0]) {
		return c.w.WriteMetric(m) // an error, or the same descriptor of an earlier archive
	}
	if b := appendMetric(c.buf[:0], m); !plain || len(b) < len(r.Raw) && len(m.Names) > 0 { // names may have NULs
		c.buf, r.Raw = b, b
	}
	return c.w.WriteRecord(r)
}

// typeDesc is the type word of a descriptor.
const typeDesc = 1

// appendMetric appends an encoded descriptor. Unlike Writer.WriteMetric, it allows duplicates.
func appendMetric(b []byte, m archive.Metric) []byte {
	n := uint32(36)
	for _, name := range m.Names {
		n += 4 + uint32(len(name))
	}
	for _, v := range [...]uint32{n, typeDesc, uint32(m.PMID), uint32(m.Type), uint32(m.InDom), uint32(m.Sem), uint32(m.Units), uint32(len(m.Names))} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	for _, name := range m.Names {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(name))), name...)
	}
	return binary.BigEndian.AppendUint32(b, n)
}

// copyInDom copies a record of an instance domain with its changes.
func (c *copier) copyInDom(r *archive.Record) error {
	d, err := r.InDom()
	if err != nil {
		return &ReadError{true, err}
	}
	s := c.byInDom[d.InDom]
	if s != nil && s.moved {
		if s.duplicate && c.uses[d.InDom]+c.uses[s.new] > 0 {
			if err := c.writeInDom(r, d, nil); err != nil {
				return err
			}
		}
		d.InDom = s.new
	}
	if c.uses[d.InDom] == 0 {
		return nil
	}
	return c.writeInDom(r, d, s)
}

// writeInDom writes a record of an instance domain, as a delta where PCP does so in version 3.
func (c *copier) writeInDom(r *archive.Record, d archive.InDomRecord, s *indomSpec) error {
	if (s == nil || !s.changes()) && c.shift == 0 && (c.version == 2 || r.Version == 3) {
		return c.w.WriteRecord(r)
	}
	d.Time = c.at(d.Time)
	d.Instances, d.Deleted = slices.Clone(d.Instances), slices.Clone(d.Deleted)
	changes := s != nil && s.changesInsts()
	if changes && d.Delta { // the delta changes with the instances
		d.Instances, d.Deleted, d.Delta = slices.Clone(c.meta.InDom(s.old).At(r.Time)), nil, false
	}
	if changes {
		d.Instances = s.rewrite(d.Instances)
	}
	if len(d.Instances) == 0 && len(d.Deleted) == 0 {
		return nil
	}
	if c.version > 2 && (changes || r.Version == 2) {
		c.makeDelta(&d)
	}
	return c.w.WriteInDom(d)
}

// makeDelta replaces a record of all instances by a delta if that is shorter. As in PCP, it walks
// both lists in their given order, so only nearly sorted lists give deltas.
func (c *copier) makeDelta(d *archive.InDomRecord) {
	last, now := c.lists[d.InDom], d.Instances
	c.lists[d.InDom] = now
	if len(last) == 0 {
		return
	}
	delta := archive.InDomRecord{Time: d.Time, InDom: d.InDom, Delta: true}
	i, j := 0, 0
	for i < len(last) || j < len(now) {
		switch {
		case i < len(last) && j < len(now) && last[i].ID == now[j].ID:
			if last[i].Name != now[j].Name {
				return
			}
			i, j = i+1, j+1
		case j == len(now) || i < len(last) && last[i].ID < now[j].ID:
			delta.Deleted = append(delta.Deleted, last[i].ID)
			i++
		default:
			delta.Instances = append(delta.Instances, now[j])
			j++
		}
	}
	if n := len(delta.Deleted) + len(delta.Instances); n > 0 && n <= len(now) {
		*d = delta
	}
}

// rewrite returns the changed instances of list.
func (s *indomSpec) rewrite(list []pdu.Instance) []pdu.Instance {
	kept := list[:0]
	for _, i := range list {
		n := s.inst(i.ID)
		if n == nil || !n.changes() {
			kept = append(kept, i)
			continue
		}
		if n.deleted {
			continue
		}
		if n.renamed {
			i.Name = n.new.Name
		}
		i.ID = n.new.ID
		kept = append(kept, i)
	}
	return kept
}

// inst returns the changes to an instance, or nil if it is unknown.
func (s *indomSpec) inst(id pdu.InstID) *instSpec {
	if s.byID == nil {
		s.byID = make(map[pdu.InstID]*instSpec, len(s.insts))
		for i := range s.insts {
			s.byID[s.insts[i].old.ID] = &s.insts[i]
		}
	}
	return s.byID[id]
}
