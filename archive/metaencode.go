package archive

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// beginMeta appends the beginning of a metadata record: room for its length, and its type.
func beginMeta(b []byte, typ int32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(typ))
}

// endMeta completes the record that starts at an offset of b.
func endMeta(b []byte, start int) ([]byte, error) {
	n := len(b) - start + 4
	if n > MaxRecord {
		return b[:start], flawed(pdu.ErrTooBig, "metadata record of %d bytes, limit %d", n, MaxRecord)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(n))
	return binary.BigEndian.AppendUint32(b, uint32(n)), nil
}

// appendMetric adds a DESC record. See Metric.
func appendMetric(b []byte, m *Metric) ([]byte, error) {
	start := len(b)
	b = beginMeta(b, typeDesc)
	for _, v := range [...]uint32{uint32(m.PMID), uint32(m.Type), uint32(m.InDom), uint32(m.Sem), uint32(m.Units), uint32(len(m.Names))} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	for _, name := range m.Names {
		if name == "" || len(name) > maxNameLen || strings.IndexByte(name, 0) >= 0 {
			return b[:start], flawed(pdu.ErrName, "metric %v: name %.100q", m.PMID, name)
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(name))), name...)
	}
	return endMeta(b, start)
}

// appendInDom adds an INDOM record of a version. See InDomRecord.
func appendInDom(b []byte, version int, d *InDomRecord) ([]byte, error) {
	start := len(b)
	typ := int32(typeInDom)
	switch {
	case version == 2:
		typ = typeInDomV2
	case d.Delta:
		typ = typeInDomDelta
	}
	if len(d.Deleted) > 0 && !d.Delta || d.Delta && version == 2 {
		return b, flawed(pdu.ErrLogRec, "instance domain %v: what goes can be recorded in a delta record of version 3 only", d.InDom)
	}
	b, err := appendTime(beginMeta(b, typ), version, d.Time)
	if err != nil {
		return b[:start], err
	}
	entries := d.Instances
	if d.Delta {
		entries = deltaEntries(d)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(d.InDom))
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	for _, e := range entries {
		if e.ID < 0 {
			return b[:start], flawed(pdu.ErrInst, "instance domain %v: instance %d is negative", d.InDom, e.ID)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(e.ID))
	}
	off := 0
	for _, e := range entries {
		if e.Name == deletedName {
			b = binary.BigEndian.AppendUint32(b, ^uint32(0))
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(off))
		off += len(e.Name) + 1
	}
	for _, e := range entries {
		if e.Name == deletedName {
			continue
		}
		if strings.IndexByte(e.Name, 0) >= 0 {
			return b[:start], flawed(pdu.ErrInst, "instance domain %v: name %.100q of instance %d", d.InDom, e.Name, e.ID)
		}
		b = append(append(b, e.Name...), 0)
	}
	return endMeta(b, start)
}

// deletedName stands for the name of an instance that a delta deletes. No name has a NUL.
const deletedName = "\x00"

// deltaEntries merges the instances that a delta adds and deletes, as C writers do: it takes the
// lower one of the next instances of both lists. So the entries ascend if both lists do.
func deltaEntries(d *InDomRecord) []pdu.Instance {
	added, deleted := d.Instances, d.Deleted
	entries := make([]pdu.Instance, 0, len(added)+len(deleted))
	for len(added) > 0 || len(deleted) > 0 {
		if len(deleted) == 0 || len(added) > 0 && added[0].ID <= deleted[0] {
			entries, added = append(entries, added[0]), added[1:]
			continue
		}
		entries, deleted = append(entries, pdu.Instance{ID: deleted[0], Name: deletedName}), deleted[1:]
	}
	return entries
}

// appendLabels adds a LABEL record of a version. See LabelRecord.
func appendLabels(b []byte, version int, l *LabelRecord) ([]byte, error) {
	start := len(b)
	typ := int32(typeLabels)
	if version == 2 {
		typ = typeLabelsV2
	}
	b, err := appendTime(beginMeta(b, typ), version, l.Time)
	if err != nil {
		return b[:start], err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(l.Class))
	b = binary.BigEndian.AppendUint32(b, l.Ident)
	b = binary.BigEndian.AppendUint32(b, uint32(len(l.Sets)))
	for i := range l.Sets {
		s := &l.Sets[i]
		if len(s.JSON) > maxLabelJSON || len(s.Labels) > maxLabels {
			return b[:start], flawed(pdu.ErrTooBig, "%v labels: %d labels in %d bytes, limits %d and %d",
				l.Class, len(s.Labels), len(s.JSON), maxLabels, maxLabelJSON)
		}
		b = appendLabelSet(b, s)
	}
	return endMeta(b, start)
}

// appendLabelSet appends a label set in the form that decodeLabelSet reads.
func appendLabelSet(b []byte, s *pdu.LabelSet) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(s.Inst))
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(s.JSON))), s.JSON...)
	if s.Err < 0 {
		return binary.BigEndian.AppendUint32(b, uint32(s.Err))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.Labels)))
	for _, l := range s.Labels {
		b = append(binary.BigEndian.AppendUint16(b, l.NameOff), l.NameLen, byte(l.Flags))
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, l.ValueOff), l.ValueLen)
	}
	return b
}

// appendText adds a TEXT record. See TextRecord.
func appendText(b []byte, t *TextRecord) ([]byte, error) {
	if !t.valid() || strings.IndexByte(t.Text, 0) >= 0 {
		return b, flawed(pdu.ErrText, "help text of kind %d: want one of pdu.TextOneLine, TextHelp with one of TextPMID, TextInDom, and no NUL in it", t.Kind)
	}
	start := len(b)
	b = binary.BigEndian.AppendUint32(beginMeta(b, typeText), uint32(t.Kind))
	b = binary.BigEndian.AppendUint32(b, t.Ident)
	return endMeta(append(append(b, t.Text...), 0), start)
}

// appendEntry adds an entry of the index of a version. See IndexEntry.
func appendEntry(b []byte, version int, e *IndexEntry) ([]byte, error) {
	if limit := maxFileLen(version); e.Meta > limit || e.Data > limit {
		return b, flawed(pdu.ErrTooBig, "index entry with offsets %d and %d, limit %d in version %d", e.Meta, e.Data, limit, version)
	}
	start := len(b)
	b, err := appendTime(b, version, e.Time)
	if err != nil {
		return b[:start], err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(int32(e.Volume)))
	if version == 2 {
		b = binary.BigEndian.AppendUint32(b, uint32(e.Meta))
		return binary.BigEndian.AppendUint32(b, uint32(e.Data)), nil
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.Meta))
	return binary.BigEndian.AppendUint64(b, uint64(e.Data)), nil
}

// appendMark adds a mark of a version.
func appendMark(b []byte, version int, t time.Time) ([]byte, error) {
	n := uint32(recordOverhead + timeLen(version) + 4)
	start := len(b)
	b, err := appendTime(binary.BigEndian.AppendUint32(b, n), version, t)
	if err != nil {
		return b[:start], err
	}
	b = binary.BigEndian.AppendUint32(b, 0)
	return binary.BigEndian.AppendUint32(b, n), nil
}
