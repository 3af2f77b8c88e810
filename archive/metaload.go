package archive

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// readWhole reads a metadata file or an index of at most limit bytes into memory.
func readWhole(src source, limit int64) ([]byte, error) {
	info, err := src.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if info.Size() > limit {
		return nil, flawed(pdu.ErrLogRec, "%d bytes, more than %d (Options.MaxMetadata)", info.Size(), limit)
	}
	b := make([]byte, info.Size())
	n, err := src.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, withoutPath(err)
	}
	return b[:n], nil
}

// A metaLoader makes Metadata from the records of a file. The Metadata refers to the bytes of the
// file.
type metaLoader struct {
	m     *Metadata
	arena nameArena
	used  int64  // approximate bytes of memory, without the file
	last  string // the latest name
}

// Approximate bytes of memory that metadata need in addition to the bytes of the file.
// Options.MaxMetadata limits the sum. The memory of a name component is that of its node in the
// name space.
const (
	metricBytes    = 100
	componentBytes = 200
	historyBytes   = 300 // of an instance domain, or the labels of an identifier
	stateBytes     = 120 // of one record of these
	textBytes      = 100
)

// addName counts the memory of a name. It shares the components that it has in common with the
// previous name.
func (l *metaLoader) addName(name string) {
	same := 0
	for same < len(name) && same < len(l.last) && name[same] == l.last[same] {
		same++
	}
	l.used += int64(1+strings.Count(name[same:], ".")) * componentBytes
	l.last = name
}

// loadMetadata loads the metadata file b, whose label has the length from. used is the end of the
// last complete record. If growing is set, b may end with an incomplete record after that. limit is
// the most memory in bytes that the metadata may take.
func loadMetadata(path string, b []byte, from int64, growing bool, limit int64) (m *Metadata, used int64, err error) {
	// A descriptor takes about 60 bytes. If there are more metrics, the map grows.
	l := metaLoader{m: &Metadata{byPMID: make(map[pdu.PMID]int32, min(len(b)/64, 1<<16))}}
	at, number := from, 1
	for ; at < int64(len(b)); number++ {
		raw, err := metaRecord(b[at:])
		if growing && errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err == nil {
			err = l.add(raw)
		}
		if err == nil && l.used > limit-int64(len(b)) {
			err = flawed(pdu.ErrLogRec, "the metadata take more than %d bytes of memory (Options.MaxMetadata)", limit)
		}
		if err != nil {
			return nil, 0, inRecord(path, at, number, err)
		}
		at += int64(len(raw))
	}
	l.m.many = nil
	for _, d := range l.m.indoms.values {
		d.finish()
	}
	for _, d := range l.m.labels.values {
		d.finish()
	}
	return l.m, at, nil
}

// metaRecord returns the record at the beginning of b.
func metaRecord(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, cutShort(pdu.ErrLogRec, "%d bytes at the end of the file", len(b))
	}
	n := int32(binary.BigEndian.Uint32(b))
	if n < recordOverhead+4 {
		return nil, flawed(pdu.ErrLogRec, "record of %d bytes, want at least %d", n, recordOverhead+4)
	}
	if int64(n) > int64(len(b)) {
		return nil, cutShort(pdu.ErrLogRec, "record of %d bytes, of which the file has %d", n, len(b))
	}
	if tail := int32(binary.BigEndian.Uint32(b[n-4:])); tail != n {
		return nil, flawed(pdu.ErrLogRec, "record begins with length %d, ends with %d", n, tail)
	}
	return b[:n:n], nil
}

// add adds one record.
func (l *metaLoader) add(raw []byte) error {
	typ := int32(binary.BigEndian.Uint32(raw[4:]))
	if typ < typeDesc || typ > typeLabels {
		return flawed(pdu.ErrRecType, "metadata record of type %d", typ)
	}
	switch metaLayouts[typ].kind {
	case KindDesc:
		m, err := decodeMetric(raw, &l.arena)
		if err != nil {
			return err
		}
		l.used += metricBytes
		for _, name := range m.Names {
			l.addName(name)
		}
		return l.m.addMetric(m)
	case KindText:
		t, err := decodeText(raw)
		if err != nil {
			return err
		}
		l.used += textBytes
		if t.valid() {
			l.m.texts.set(textKey{t.Kind, t.Ident}, t)
		}
		return nil
	case KindLabels:
		return l.addLabels(raw, typ)
	}
	return l.addInDom(raw, typ)
}

func (l *metaLoader) addInDom(raw []byte, typ int32) error {
	s, id, err := parseInDom(raw, typ)
	if err != nil || s.len() == 0 { // as in the C library, a record without instances is ignored
		return err
	}
	d := l.m.InDom(id)
	if d == nil {
		l.used += historyBytes
		d = &InDom{ID: id}
		l.m.indoms.set(id, d)
	}
	l.used += stateBytes
	d.states.add(timeAt(raw[8:], metaLayouts[typ].version), s)
	return nil
}

func (l *metaLoader) addLabels(raw []byte, typ int32) error {
	s, class, ident, err := parseLabels(raw, typ)
	if err != nil {
		return err
	}
	d := l.m.Labels(class, ident)
	if d == nil {
		l.used += historyBytes
		d = &Labels{Class: class, Ident: ident}
		l.m.labels.set(labelKey{class, ident}, d)
	}
	l.used += stateBytes
	d.states.add(timeAt(raw[8:], metaLayouts[typ].version), s)
	return nil
}
