package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A salvager reads the good records of a file that may be damaged. It skips the bytes between them.
type salvager struct {
	file  *File
	win   window
	size  int64
	start int64 // where the first record begins
	rec   Record
	// good reports whether to keep a record, and returns the bytes to write for it. They are valid
	// until the next call.
	good func(r *Record) (raw []byte, ok bool)

	off    int64
	tries  int
	budget int64        // how many more bytes search may decode
	loss   RepairedFile // Records, Bytes, From, To and Problem
	last   time.Time    // of the last good record
	open   bool         // whether loss.To is still unknown
}

// Limits for places in a file that look like the start of a record. The file may have at most
// maxSalvageTries of them, and together they may have salvageTimes times the length of the file
// plus salvageBytes. Beyond these limits, the rest of the file counts as lost, so that a crafted
// file cannot cause endless work.
const (
	maxSalvageTries = 1 << 16
	salvageTimes    = 4
	salvageBytes    = 64 << 20
)

// salvageChunk is how many bytes are searched at once.
const salvageChunk = 1 << 20

func newSalvager(f *File, version int, good func(*Record) ([]byte, bool)) (*salvager, error) {
	src, err := f.open(context.Background())
	if err != nil {
		return nil, err
	}
	s := &salvager{file: f, rec: Record{File: f, version: version}, good: good, start: labelLen(version)}
	s.win.open(src)
	if s.size, err = f.Size(); err != nil {
		return nil, err
	}
	s.rewind()
	return s, nil
}

func (s *salvager) rewind() {
	s.off, s.tries, s.last, s.open, s.loss = s.start, 0, time.Time{}, false, RepairedFile{}
	s.budget = salvageTimes*s.size + salvageBytes
}

// next returns the bytes to write for the next good record, or nil at the end.
func (s *salvager) next() (raw []byte, err error) {
	for s.off < s.size {
		at, err := s.read(s.off)
		if err != nil && !isDamage(err) {
			return nil, inFile(s.file.path, err)
		}
		if err != nil {
			s.lose(0, err)
			next, err := s.search(s.off + 1)
			if err != nil {
				return nil, inFile(s.file.path, err)
			}
			s.loss.Bytes += next - s.off
			s.off = next
			continue
		}
		s.off += int64(len(at))
		ok := s.rec.classify() == nil
		if ok {
			raw, ok = s.good(&s.rec)
		}
		if !ok {
			s.lose(1, errUnreadable)
			s.loss.Bytes += int64(len(at))
			continue
		}
		if !s.rec.Time.IsZero() {
			s.last = s.rec.Time
			if s.open {
				s.loss.To, s.open = s.last, false
			}
		}
		if len(raw) != len(at) {
			s.lose(1, errUndescribed)
			s.loss.Bytes += int64(len(at) - len(raw))
		}
		return raw, nil
	}
	return nil, nil
}

var (
	errUnreadable  = flawed(pdu.ErrLogRec, "record that cannot be read")
	errUndescribed = flawed(pdu.ErrPMID, "values of a metric without a descriptor")
)

// isDamage reports whether an error is about the content of a file, not about reading it.
func isDamage(err error) bool {
	_, ok := errors.AsType[*flaw](err)
	return ok
}

// read reads the record at an offset into rec and does not decode it.
func (s *salvager) read(off int64) ([]byte, error) {
	s.rec.Offset, s.rec.Number = off, -1
	raw, err := s.win.next(off, leastLen(s.file.volume, s.rec.version))
	if err == nil && raw == nil {
		err = cutShort(pdu.ErrLogRec, "no record")
	}
	if err != nil {
		return nil, err
	}
	s.rec.Raw = raw
	s.rec.typ, s.rec.Version, s.rec.Time = 0, 0, time.Time{}
	return raw, nil
}

// isGood reads the record at an offset and reports whether it is good.
func (s *salvager) isGood(off int64) (bool, error) {
	_, err := s.read(off)
	if err != nil && !isDamage(err) {
		return false, err
	}
	if err != nil || s.rec.classify() != nil {
		return false, nil
	}
	_, ok := s.good(&s.rec)
	return ok, nil
}

// lose notes that records were lost after the last good record, for the reason why.
func (s *salvager) lose(records int, why error) {
	if s.loss.Problem == nil {
		s.loss.Problem = inRecord(s.file.path, s.rec.Offset, -1, why)
		s.loss.From = s.last
	}
	s.loss.Records += records
	s.loss.To, s.open = time.Time{}, true
}

// search returns the offset of the next good record at or after off, or the end of the file.
func (s *salvager) search(off int64) (int64, error) {
	least := int64(leastLen(s.file.volume, s.rec.version))
	buf := make([]byte, min(salvageChunk, max(0, s.size-off)))
	var tailBytes [4]byte
	for s.size-off >= least {
		n, err := s.win.r.ReadAt(buf[:min(int64(len(buf)), s.size-off)], off)
		if n < 4 {
			return s.size, withoutPath(err)
		}
		for i := 0; i+4 <= n; i++ {
			length := int64(int32(binary.BigEndian.Uint32(buf[i:])))
			if length < least || length > MaxRecord || off+int64(i)+length > s.size {
				continue
			}
			at := off + int64(i)
			tail := tailBytes[:]
			if end := int64(i) + length; end <= int64(n) {
				tail = buf[end-4 : end]
			} else if s.tries++; s.tries > maxSalvageTries {
				return s.size, nil
			} else if _, err := s.win.r.ReadAt(tail, at+length-4); err != nil {
				return 0, withoutPath(err)
			}
			if !bytes.Equal(buf[i:i+4], tail) {
				continue
			}
			s.tries++
			if s.budget -= length; s.tries > maxSalvageTries || s.budget < 0 {
				return s.size, nil
			}
			ok, err := s.isGood(at)
			if err != nil {
				return 0, err
			}
			if ok && (s.file.volume < 0 || !s.rec.Time.Before(s.last)) {
				return at, nil
			}
		}
		off += int64(n) - 3
	}
	return s.size, nil
}

// all reads all good records.
func (s *salvager) all(f func(raw []byte) error) error {
	s.rewind()
	for {
		raw, err := s.next()
		if raw == nil || err != nil {
			return err
		}
		if err := f(raw); err != nil {
			return err
		}
	}
}

// findStart finds where the records begin in a file without a valid label. It tries the offset
// after a label, then the start of the file, and then all other offsets.
func (s *salvager) findStart() error {
	for _, start := range []int64{labelLen(s.rec.version), 0} {
		if ok, err := s.isGood(start); ok || err != nil {
			s.start = start
			return err
		}
	}
	found, err := s.search(0)
	if found < s.size {
		s.start = found
	}
	return err
}
