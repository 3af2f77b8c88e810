package archive

import "encoding/binary"

const (
	skimLeast  = 16 << 10 // shorter records are read as a whole, which is faster
	skimBefore = 32       // bytes that a skim reads before a place between two records
	skimAfter  = 96       // bytes that it reads after the place
)

// A skim reads a file around the places between two records: the length words and the first bytes
// of a record.
type skim struct {
	off int64 // in the file
	n   int   // number of valid bytes in buf
	buf [skimBefore + skimAfter]byte
}

// around returns before bytes before a place and after bytes after it, or nil if they cannot be
// read.
func (s *skim) around(r source, place int64, before, after int) []byte {
	from := place - int64(before)
	if from < s.off || place+int64(after) > s.off+int64(s.n) {
		s.off = max(0, place-skimBefore)
		s.n, _ = r.ReadAt(s.buf[:], s.off) // fewer bytes at the end of the file
		if place+int64(after) > s.off+int64(s.n) {
			return nil
		}
	}
	at := int(from - s.off)
	return s.buf[at : at+before+after]
}

// word returns the length at the beginning of b, or 0 if b is nil.
func word(b []byte) int64 {
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint32(b))
}

// skimNext is like nextIn for a long record, but reads only its start and its end. It returns false
// and does not move if the record is short or if it finds an error.
func (w *walker) skimNext() bool {
	head := append(w.head[:0], w.skim.around(w.win.r, w.off, 0, leastLen(0, w.version())-4)...)
	w.head = head
	if len(head) == 0 {
		return false
	}
	n := word(head)
	if n < skimLeast || n > MaxRecord || w.win.holds(w.off, n) || word(w.skim.around(w.win.r, w.off+n, 4, 0)) != n {
		return false
	}
	w.set(w.off, w.off+n, head)
	w.off, w.rec.Raw = w.end, nil
	return true
}

// skimPrev is like prevIn for a long record; see skimNext.
func (w *walker) skimPrev() bool {
	n := word(w.skim.around(w.win.r, w.off, 4, 0))
	if n < skimLeast || n > min(w.off-w.first(), MaxRecord) || w.win.holds(w.off-n, n) {
		return false
	}
	head := w.skim.around(w.win.r, w.off-n, 0, leastLen(0, w.version())-4)
	if word(head) != n {
		return false
	}
	w.set(w.off-n, w.off, head)
	w.off, w.rec.Raw = w.rec.Offset, nil
	return true
}
