package archive

import (
	"bytes"
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// Limits of metadata records, the same as in PCP.
const (
	maxNameLen   = 4096  // of a metric's name
	maxLabelJSON = 65535 // PM_MAXLABELJSONLEN
	maxLabels    = 255   // PM_MAXLABELS
)

// is returns an error unless the record is of one of two kinds.
func (r *Record) is(kind, or RecordKind) error {
	if r.Kind != kind && r.Kind != or {
		return r.wrap(flawed(pdu.ErrRecType, "record of another kind"))
	}
	return nil
}

// wrap adds the place of the record to an error.
func (r *Record) wrap(err error) error { return inRecord(r.File.path, r.Offset, r.Number, err) }

// Label decodes a record of KindLabel.
func (r *Record) Label() (Label, error) {
	if err := r.is(KindLabel, KindLabel); err != nil {
		return Label{}, err
	}
	var l Label
	if err := l.decode(r.Raw); err != nil {
		return Label{}, r.wrap(err)
	}
	return l, nil
}

// Metric decodes a record of KindDesc.
func (r *Record) Metric() (Metric, error) {
	if err := r.is(KindDesc, KindDesc); err != nil {
		return Metric{}, err
	}
	m, err := decodeMetric(r.Raw, nil)
	return m, r.wrap(err)
}

// InDom decodes a record of KindInDom or KindInDomDelta.
func (r *Record) InDom() (InDomRecord, error) {
	if err := r.is(KindInDom, KindInDomDelta); err != nil {
		return InDomRecord{}, err
	}
	s, id, err := parseInDom(bytes.Clone(r.Raw), r.typ)
	if err != nil {
		return InDomRecord{}, r.wrap(err)
	}
	d := InDomRecord{Time: r.Time, InDom: id, Delta: s.delta}
	d.Instances, d.Deleted = s.decode()
	return d, nil
}

// Labels decodes a record of KindLabels. The texts alias Raw.
func (r *Record) Labels() (LabelRecord, error) {
	if err := r.is(KindLabels, KindLabels); err != nil {
		return LabelRecord{}, err
	}
	s, class, ident, err := parseLabels(r.Raw, r.typ)
	if err != nil {
		return LabelRecord{}, r.wrap(err)
	}
	return LabelRecord{Time: r.Time, Class: class, Ident: ident, Sets: s.decode()}, nil
}

// Text decodes a record of KindText.
func (r *Record) Text() (TextRecord, error) {
	if err := r.is(KindText, KindText); err != nil {
		return TextRecord{}, err
	}
	t, err := decodeText(bytes.Clone(r.Raw))
	return t, r.wrap(err)
}

// Entry decodes a record of KindIndex.
func (r *Record) Entry() (IndexEntry, error) {
	if err := r.is(KindIndex, KindIndex); err != nil {
		return IndexEntry{}, err
	}
	return decodeEntry(r.Raw, r.version), nil
}

// payload is a cursor over a record after its type.
func payload(raw []byte) wire.Cursor { return wire.New(raw[8:len(raw)-4], 8) }

// malformed returns the error of a wire.Cursor as a pdu.ErrLogRec about what. It returns nil if err
// is nil.
func malformed(what string, err error) error {
	if err == nil {
		return nil
	}
	return flawed(pdu.ErrLogRec, "%s: %v", what, err)
}

// decodeMetric decodes a DESC record. With an arena, the slice of names is a part of the arena, and
// the names alias raw. Without one, the names are copies.
func decodeMetric(raw []byte, arena *nameArena) (Metric, error) {
	c := payload(raw)
	m := Metric{Desc: pdu.Desc{
		PMID:  pdu.PMID(c.Uint32("pmid")),
		Type:  pdu.Type(c.Int32("type")),
		InDom: pdu.InDom(c.Uint32("indom")),
		Sem:   pdu.Sem(c.Int32("sem")),
		Units: pdu.Units(c.Uint32("units")),
	}}
	if c.Err() == nil && c.Left() == 0 {
		return m, nil // some writers omit the number of names if there is no name
	}
	n := c.Count(4, "number of names")
	names := arena.take(n)
	for range n {
		length := c.Int32("length of name")
		if length > maxNameLen {
			c.Fail("length of name", 4, "%d, limit %d", length, maxNameLen)
		}
		name := c.Bytes(int(length), "name")
		if i := bytes.IndexByte(name, 0); i >= 0 { // some old writers pad with NULs
			name = name[:i]
		}
		if arena != nil {
			names = append(names, wire.Alias(name))
		} else {
			names = append(names, string(name))
		}
	}
	if err := c.Err(); err != nil {
		return Metric{}, malformed("descriptor", err)
	}
	m.Names = names
	return m, nil
}

// A nameArena is memory for the names of many metrics.
type nameArena []string

// take returns an empty slice with room for n names. A nil arena allocates it.
func (a *nameArena) take(n int) []string {
	if a == nil {
		return make([]string, 0, n)
	}
	if len(*a) < n {
		*a = make([]string, max(n, 512))
	}
	names := (*a)[:0:n]
	*a = (*a)[n:]
	return names
}

// decodeText decodes a TEXT record. The text aliases raw.
func decodeText(raw []byte) (TextRecord, error) {
	c := payload(raw)
	t := TextRecord{Kind: pdu.TextKind(c.Int32("kind")), Ident: c.Uint32("ident")}
	text, _, _ := bytes.Cut(c.Bytes(c.Left(), "text"), []byte{0})
	if err := c.Err(); err != nil {
		return TextRecord{}, malformed("help text", err)
	}
	t.Text = wire.Alias(text)
	return t, nil
}

// valid reports whether Kind is valid: one of TextOneLine and TextHelp with one of TextPMID and
// TextInDom.
func (t *TextRecord) valid() bool {
	class, ident := t.Kind&(pdu.TextOneLine|pdu.TextHelp), t.Kind&(pdu.TextPMID|pdu.TextInDom)
	return t.Kind == class|ident && class&(class-1) == 0 && class != 0 && ident&(ident-1) == 0 && ident != 0
}

// An indomState is a record of an instance domain, checked but not decoded.
type indomState struct {
	ids, offs, texts []byte // parts of the record
	delta            bool
}

// parseInDom checks an INDOM record. The result refers to parts of raw.
func parseInDom(raw []byte, typ int32) (s indomState, id pdu.InDom, err error) {
	c := payload(raw)
	c.Skip(timeLen(metaLayouts[typ].version), "time")
	id = pdu.InDom(c.Uint32("indom"))
	n := c.Count(8, "number of instances")
	s.delta = typ == typeInDomDelta
	s.ids, s.offs = c.Bytes(4*n, "instances"), c.Bytes(4*n, "name offsets")
	s.texts = c.Bytes(c.Left(), "names")
	if err := c.Err(); err != nil {
		return indomState{}, id, malformed("instance domain", err)
	}
	for i := range n {
		inst, off := s.at(i)
		if inst < 0 {
			return indomState{}, id, flawed(pdu.ErrLogRec, "instance domain %v: instance %d is negative", id, inst)
		}
		if int(off) > len(s.texts) || off < 0 && !(s.delta && off == -1) {
			return indomState{}, id, flawed(pdu.ErrLogRec, "instance domain %v: name of instance %d at %d of %d bytes", id, inst, off, len(s.texts))
		}
	}
	return s, id, nil
}

// len returns the number of instances in the record, including deleted ones.
func (s *indomState) len() int { return len(s.ids) / 4 }

// at returns instance i and the offset of its name, which is -1 for a deleted instance.
func (s *indomState) at(i int) (pdu.InstID, int32) {
	return pdu.InstID(binary.BigEndian.Uint32(s.ids[4*i:])), int32(binary.BigEndian.Uint32(s.offs[4*i:]))
}

// decode returns the instances in the order of the record. The names alias the record.
func (s *indomState) decode() (instances []pdu.Instance, deleted []pdu.InstID) {
	instances = make([]pdu.Instance, 0, s.len())
	for i := range s.len() {
		inst, off := s.at(i)
		if off < 0 {
			deleted = append(deleted, inst)
			continue
		}
		instances = append(instances, pdu.Instance{ID: inst, Name: s.name(off)})
	}
	return instances, deleted
}

// name returns the name at an offset. It aliases the record.
func (s *indomState) name(off int32) string {
	name, _, _ := bytes.Cut(s.texts[off:], []byte{0})
	return wire.Alias(name)
}

// A labelState has the label sets of a record, checked but not decoded.
type labelState struct {
	sets []byte // of the record, from the number of sets
}

// parseLabels checks a LABEL record. The result refers to a part of raw.
func parseLabels(raw []byte, typ int32) (s labelState, class pdu.LabelClass, ident uint32, err error) {
	c := payload(raw)
	c.Skip(timeLen(metaLayouts[typ].version), "time")
	class, ident = pdu.LabelClass(c.Int32("class")), c.Uint32("ident")
	at := c.Offset()
	for range c.Count(12, "number of label sets") {
		var set pdu.LabelSet
		decodeLabelSet(&c, &set, false)
	}
	if err := c.Err(); err != nil {
		return labelState{}, class, ident, malformed("labels", err)
	}
	return labelState{raw[at : len(raw)-4]}, class, ident, nil
}

// decode returns the sets, which alias the record.
func (s *labelState) decode() []pdu.LabelSet {
	c := wire.New(s.sets, 0)
	sets := make([]pdu.LabelSet, c.Count(12, "number of label sets"))
	for i := range sets {
		decodeLabelSet(&c, &sets[i], true)
	}
	return sets
}

// decodeLabelSet reads one set. Unless labels is true, it checks the list of labels but does not
// decode it.
func decodeLabelSet(c *wire.Cursor, s *pdu.LabelSet, labels bool) {
	s.Inst = pdu.InstID(c.Int32("instance"))
	length := c.Int32("length of JSON")
	if length > maxLabelJSON {
		c.Fail("length of JSON", 4, "%d, limit %d", length, maxLabelJSON)
	}
	s.JSON = c.Bytes(int(length), "JSON")
	n := c.Int32("number of labels")
	switch {
	case n < 0:
		s.Err = pdu.Error(n)
		return
	case n > maxLabels:
		c.Fail("number of labels", 4, "%d, limit %d", n, maxLabels)
		return
	case int(n)*8 > c.Left():
		c.Fail("number of labels", 4, "%d labels in %d bytes", n, c.Left())
		return
	case !labels:
		c.Skip(8*int(n), "labels")
		return
	}
	if n > 0 {
		s.Labels = make([]pdu.Label, n)
	}
	for i := range s.Labels {
		l := pdu.Label{NameOff: c.Uint16("name"), NameLen: c.Uint8("name"), Flags: pdu.LabelFlags(c.Uint8("flags"))}
		l.ValueOff, l.ValueLen = c.Uint16("value"), c.Uint16("value")
		s.Labels[i] = l
	}
}
