package archive

import (
	"bytes"
	"encoding/binary"

	"github.com/pcp-go/pcp/pdu"
)

// examineMeta examines the metadata, and notes the metrics that have descriptors.
func (r *repair) examineMeta(f *File) error {
	if size, err := f.Size(); err != nil {
		return err
	} else if size > maxMetadata {
		return inFile(f.path, flawed(pdu.ErrLogRec, "%d bytes, more than %d", size, int64(maxMetadata)))
	}
	m := &metaChecker{accepted: map[int64]bool{}}
	m.loader.m = &Metadata{byPMID: map[pdu.PMID]int32{}}
	size, err := r.examineFile(f, m.good, func(at int64, rec *Record) {
		if !rec.Time.IsZero() {
			r.timed = append(r.timed, timedOffset{rec.Time, at})
		}
	})
	if err != nil {
		return err
	}
	for _, n := range m.loader.m.metrics {
		r.known[n.PMID] = true
	}
	if len(r.known) == 0 {
		return inFile(f.path, flawed(pdu.ErrLogRec, "no metric is described"))
	}
	r.meta = size
	return nil
}

// A metaChecker loads each metadata record once, even if the salvager reads it several times.
type metaChecker struct {
	loader   metaLoader
	accepted map[int64]bool // by offset
}

func (m *metaChecker) good(rec *Record) ([]byte, bool) {
	ok, known := m.accepted[rec.Offset]
	if !known {
		ok = m.loader.add(bytes.Clone(rec.Raw)) == nil
		m.accepted[rec.Offset] = ok
	}
	return rec.Raw, ok
}

// examineVolume examines a volume.
func (r *repair) examineVolume(f *File) error {
	w := newWriter("", WriterOptions{})
	w.label.Version = r.label.Version
	good := func(rec *Record) ([]byte, bool) { return r.knownValues(w, rec) }
	begun := false
	size, err := r.examineFile(f, good, func(at int64, rec *Record) {
		r.scan.record(f.volume, at, rec, !begun)
		begun = true
	})
	if err != nil {
		return err
	}
	if begun {
		r.first = true
		r.scan.end(f.volume, size)
		return nil
	}
	if n := len(r.work); n > 0 && r.work[n-1].Path == f.path {
		r.work[n-1].NewSize = 0
		return nil
	}
	if r.first { // a volume that was created but has no records yet
		r.scan.end(f.volume, size)
		return nil
	}
	r.work = append(r.work, &mending{RepairedFile: RepairedFile{Path: f.path, Volume: f.volume, Size: size,
		Problem: inFile(f.path, flawed(pdu.ErrNoData, "nothing but a label"))}})
	return nil
}

// knownValues returns a data record without the values of metrics that have no descriptors.
func (r *repair) knownValues(w *Writer, rec *Record) ([]byte, bool) {
	if rec.resultInPlace(&w.other) != nil || w.other.Validate() != nil {
		return nil, false
	}
	if rec.Kind == KindMark {
		return rec.Raw, true
	}
	unknown := false
	for _, set := range w.other.All() {
		unknown = unknown || !r.known[set.PMID]
	}
	if !unknown {
		return rec.Raw, true
	}
	s := &w.copied
	s.Reset()
	s.Time = rec.Time
	for _, set := range w.other.All() {
		if r.known[set.PMID] {
			s.Copy(set)
		}
	}
	if s.Len() == 0 {
		return nil, false
	}
	raw, err := w.encode(s)
	return raw, err == nil
}

// decodedIndex returns the entries of an index with a valid label.
func (r *repair) decodedIndex(f *File) (entries []IndexEntry, err error) {
	l, err := f.Label()
	if err != nil {
		return nil, err
	}
	if err := l.sameArchive(&r.label); err != nil {
		return nil, inRecord(f.path, 0, 0, err)
	}
	size, err := f.Size()
	if err == nil && size > maxMetadata {
		err = flawed(pdu.ErrLogRec, "%d bytes, more than %d", size, int64(maxMetadata))
	}
	if err != nil {
		return nil, inFile(f.path, err)
	}
	b := make([]byte, size-l.Len())
	if _, err := f.ReadAt(b, l.Len()); err != nil && len(b) > 0 {
		return nil, inFile(f.path, withoutPath(err))
	}
	entries = decodeIndex(b, l.Version)
	if left := len(b) % entryLen(l.Version); left > 0 {
		return entries, inRecord(f.path, size-int64(left), len(entries)+1, cutShort(pdu.ErrLogRec, "%d bytes of an entry", left))
	}
	if len(entries) == 0 {
		return nil, inFile(f.path, flawed(pdu.ErrNoData, "nothing but a label"))
	}
	for i := range entries { // check for an invalid time
		at := b[i*entryLen(l.Version):]
		nsec := int32(binary.BigEndian.Uint32(at[timeLen(l.Version)-4:]))
		if limit := int32(1e9); nsec < 0 || nsec >= limit || l.Version == 2 && nsec >= 1e6 {
			return entries, inRecord(f.path, l.Len()+int64(i*entryLen(l.Version)), i+1, flawed(pdu.ErrLogRec, "fraction %d of a second", nsec))
		}
	}
	return entries, nil
}
