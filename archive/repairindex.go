package archive

import (
	"bufio"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An indexScan compares an index with the records, and makes a new index from them.
type indexScan struct {
	wanted map[place]bool // the places of entries, and whether a record begins or ends there
	ends   map[int]int64  // the lengths of the volumes
	made   []IndexEntry
	due    int64
	last   time.Time // the latest time so far
	old    []IndexEntry
	flaw   error // of the old index; nil while it is good
}

// A place is an offset in a volume.
type place struct {
	volume int
	off    int64
}

// readIndex reads the index. f is nil if the archive has no index.
func (r *repair) readIndex(f *File) error {
	s := &r.scan
	s.wanted, s.ends = map[place]bool{}, map[int]int64{}
	if f == nil {
		s.flaw = inFile(r.base, flawed(pdu.ErrLogFile, "the archive has no index"))
		return nil
	}
	s.old, s.flaw = r.decodedIndex(f)
	if s.flaw != nil && !isDamage(s.flaw) {
		return s.flaw
	}
	for _, e := range s.old {
		s.wanted[place{e.Volume, e.Data}] = false
	}
	return nil
}

// record notes a record and where it is.
func (s *indexScan) record(volume int, at int64, rec *Record, begins bool) {
	p := place{volume, at}
	if _, wanted := s.wanted[p]; wanted {
		s.wanted[p] = true
	}
	if rec.Time.After(s.last) {
		s.last = rec.Time
	}
	if begins || at >= s.due {
		s.made = append(s.made, IndexEntry{Time: s.last, Volume: volume, Data: at})
		s.due = at + indexEvery
	}
}

// end notes the length of a volume.
func (s *indexScan) end(volume int, size int64) {
	s.ends[volume] = size
	p := place{volume, size}
	if _, wanted := s.wanted[p]; wanted {
		s.wanted[p] = true
	}
}

// examineIndex adds a mending to r.work if the index is missing or damaged.
func (r *repair) examineIndex(f *File) error {
	s := &r.scan
	if s.flaw == nil {
		s.flaw = r.checkEntries()
	}
	if s.flaw == nil {
		return nil
	}
	w := &mending{RepairedFile: RepairedFile{Path: r.base + ".index", Volume: VolumeIndex, Problem: s.flaw}}
	if f != nil {
		if _, packed := trimCompression(f.path); packed != 0 {
			return inFile(f.path, flawed(pdu.ErrLogFile, "compressed file is damaged: %v", s.flaw))
		}
		var err error
		if w.Size, err = f.Size(); err != nil {
			return err
		}
		w.Path = f.path
	}
	last := s.made[len(s.made)-1]
	last.Time, last.Data = s.last, s.ends[last.Volume]
	var b []byte
	next := 0 // index in r.timed of the first record that is not before the entry
	for i, e := range append(s.made, last) {
		for next < len(r.timed) && r.timed[next].time.Before(e.Time) {
			next++
		}
		e.Meta = r.meta
		if i < len(s.made) && next < len(r.timed) {
			e.Meta = r.timed[next].off
		}
		var err error
		if b, err = appendEntry(b, r.label.Version, &e); err != nil {
			return inFile(w.Path, err)
		}
	}
	w.NewSize = r.label.Len() + int64(len(b))
	w.write = func(out *bufio.Writer) error {
		if err := r.writeLabel(out, VolumeIndex); err != nil {
			return err
		}
		_, err := out.Write(b)
		return err
	}
	r.work = append(r.work, w)
	return nil
}

// checkEntries checks the index against the records.
func (r *repair) checkEntries() error {
	s := &r.scan
	first := r.label.Len()
	var before IndexEntry
	for i, e := range s.old {
		var err error
		switch {
		case !s.wanted[place{e.Volume, e.Data}]:
			err = flawed(pdu.ErrLogRec, "no record at offset %d of volume %d", e.Data, e.Volume)
		case e.Meta < first || e.Meta > r.meta:
			err = flawed(pdu.ErrLogRec, "offset %d of the metadata, which has %d bytes", e.Meta, r.meta)
		case i > 0 && (e.Time.Before(before.Time) || e.Volume < before.Volume || e.Volume == before.Volume && (e.Data < before.Data || e.Meta < before.Meta)):
			err = flawed(pdu.ErrLogRec, "goes back")
		case e.Time.Before(r.label.Start):
			err = flawed(pdu.ErrLogRec, "time %v before the start", e.Time.UTC())
		}
		if err != nil {
			return inRecord(r.files.Index, first+int64(i*entryLen(r.label.Version)), i+1, err)
		}
		before = e
	}
	return nil
}
