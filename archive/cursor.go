package archive

import (
	"errors"
	"io"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Cursor reads the data records of a set in the order of the files, which is the order of time.
// Its position is between two records, before the first or after the last one. Next reads the
// record after the position and Prev the one before it. Both then move past that record, so Prev
// after Next reads the same record again.
//
// Between two archives, Next and Prev return a mark that is not in any file. For Next, its time is
// a millisecond after the last record of the earlier archive. For Prev, it is a millisecond before
// the start of the later archive.
//
// A cursor allocates nothing once its buffers have grown. Only one goroutine at a time may use it.
// A Set may have any number of cursors.
type Cursor struct {
	set     *Set
	at      int // index of the current archive
	w       walker
	mark    Record     // the mark between two archives
	joint   bool       // whether mark was read last
	from    *Archive   // archive of the record that was read last
	decoded bool       // whether w.result has the record that was read last
	empty   pdu.Result // the Result of a record without values
}

// joinGap is the distance of a mark between two archives from the records beside it.
const joinGap = time.Millisecond

// Next reads the next record. After the last one it returns pdu.ErrEOL, unwrapped. Once a writer
// has appended a record, Next reads that.
//
// A malformed record is pdu.ErrLogRec, and the cursor stays before it. The error of an incomplete
// record also wraps io.ErrUnexpectedEOF. If even the length of that record is incomplete, Next
// takes it for the end of the volume.
//
// Where an archive ends after the start of the next one, the error is pdu.ErrLogOverlap in place of
// the mark between them. Missing volumes are pdu.ErrLogFile. Next reports either error once and
// then continues.
//
// In a set of several archives, Options.Damaged decides about a malformed record. If it returns no
// error, the archive ends there, and the records of the next one follow. An incomplete record at
// the end of the last archive remains an error, because that archive may be growing.
func (c *Cursor) Next() error {
	a := c.w.arch
	found, err := c.w.next()
	if last := c.at+1 == len(c.set.archives); !last || !errors.Is(err, io.ErrUnexpectedEOF) {
		err = c.set.tolerate(a, err)
	}
	switch {
	case err != nil:
		return err
	case found:
		c.read(a)
		return nil
	case c.at+1 == len(c.set.archives):
		return pdu.ErrEOL
	}
	e, err := c.end(a)
	if err != nil {
		return err
	}
	c.at++
	b := c.set.archives[c.at]
	c.w.start(b)
	return c.join(a, a, b, e, e.time.Add(joinGap))
}

// Prev reads the previous record. Before the first one it returns pdu.ErrEOL, unwrapped. The other
// errors are those of Next.
func (c *Cursor) Prev() error {
	b := c.w.arch
	found, err := c.w.prev()
	err = c.set.tolerate(b, err)
	switch {
	case err != nil:
		return err
	case found:
		c.read(b)
		return nil
	case c.at == 0:
		return pdu.ErrEOL
	}
	a := c.set.archives[c.at-1]
	e, err := c.end(a)
	if err != nil {
		return err
	}
	c.at--
	c.w.start(a)
	c.w.volume, c.w.off = e.volume, e.offset
	return c.join(b, a, b, e, b.label.Start.Add(-joinGap))
}

// SkipNext is like Next but decodes only the time and the mark flag. It does not read a long record
// as a whole. For such a record, Raw of Record is nil, and Result, Select and Contains find no
// value sets.
func (c *Cursor) SkipNext() error {
	c.w.skims = true
	err := c.Next()
	c.w.skims = false
	return err
}

// SkipPrev is like Prev but decodes only the time and the mark flag; see SkipNext.
func (c *Cursor) SkipPrev() error {
	c.w.skims = true
	err := c.Prev()
	c.w.skims = false
	return err
}

// end returns the end of an archive of the set. An archive without a complete record ends where it
// starts, if Options.Damaged permits that.
func (c *Cursor) end(a *Archive) (archiveEnd, error) {
	e, err := a.end()
	if err == nil {
		return e, nil
	}
	return archiveEnd{time: a.label.Start, volume: a.firstVolume(), offset: a.label.Len()}, c.set.tolerate(a, err)
}

// read notes that the cursor has read a record of a.
func (c *Cursor) read(a *Archive) { c.from, c.joint, c.decoded = a, false, false }

// join makes the mark at t between the archives a and b the current record. left is the archive
// that the cursor leaves, and e the end of a.
func (c *Cursor) join(left, a, b *Archive, e archiveEnd, t time.Time) error {
	if e.time.After(b.label.Start) {
		return inFile(b.base, flawed(pdu.ErrLogOverlap, "starts at %v, before the end of %s at %v",
			b.label.Start.UTC(), a.base, e.time.UTC()))
	}
	c.from, c.joint = left, true
	c.mark = Record{Kind: KindMark, Time: t, Offset: -1, Number: -1}
	return nil
}

// SeekNext moves so that Next reads the first record at or after t. After an error, such as a
// malformed record before t, Next fails with the same error. SeekNext uses the index only to be
// faster: a wrong index does no harm.
func (c *Cursor) SeekNext(t time.Time) error {
	past := func(u time.Time) bool { return !u.Before(t) }
	if err := c.seek(past); err != nil || c.at+1 == len(c.set.archives) || !c.atEnd() {
		return err
	}
	// Between two archives, choose the position before or after the mark.
	e, err := c.end(c.w.arch)
	if err == nil && !past(e.time.Add(joinGap)) {
		c.start(c.at + 1)
	}
	return err
}

// SeekPrev moves so that Prev reads the last record at or before t. See SeekNext.
func (c *Cursor) SeekPrev(t time.Time) error {
	past := func(u time.Time) bool { return u.After(t) }
	if err := c.seek(past); err != nil || c.at+1 == len(c.set.archives) || !c.atEnd() {
		return err
	}
	if b := c.set.archives[c.at+1]; !past(b.label.Start.Add(-joinGap)) {
		c.start(c.at + 1)
	}
	return nil
}

// seek moves to before the first record whose time is past, in the last archive whose start is not
// past.
func (c *Cursor) seek(past func(time.Time) bool) error {
	k := 0
	for i, a := range c.set.archives {
		if !past(a.label.Start) {
			k = i
		}
	}
	c.start(k)
	return c.set.tolerate(c.w.arch, c.w.seek(past))
}

// atEnd reports whether the cursor stands at the end of an archive.
func (c *Cursor) atEnd() bool {
	p := c.Pos()
	found, err := c.w.next()
	c.SetPos(p)
	return !found && c.set.tolerate(c.w.arch, err) == nil
}

func (c *Cursor) start(k int) {
	c.at = k
	c.w.start(c.set.archives[k])
}

// SeekStart moves to before the first record.
func (c *Cursor) SeekStart() { c.start(0) }

// SeekEnd moves to after the last complete record.
func (c *Cursor) SeekEnd() error {
	c.start(len(c.set.archives) - 1)
	e, err := c.end(c.w.arch)
	if err == nil {
		c.w.volume, c.w.off = e.volume, e.offset
	}
	return err
}

// A Pos is a position of a Cursor, between two records of a set. The zero Pos is not valid.
type Pos struct {
	archive, volume int
	off             int64
}

// Pos returns the position of the cursor.
func (c *Cursor) Pos() Pos { return Pos{c.at, c.w.volume, c.w.off} }

// SetPos moves to p, a position of this cursor or of another one of the same Set.
func (c *Cursor) SetPos(p Pos) {
	c.start(p.archive)
	c.w.volume, c.w.off = p.volume, p.off
}

// Time returns the time of the record that was read last.
func (c *Cursor) Time() time.Time { return c.Record().Time }

// Mark reports whether the record that was read last is a mark.
func (c *Cursor) Mark() bool { return c.Record().Kind == KindMark }

// Archive returns the archive of the record that was read last, or nil before the first one. For a
// mark between two archives it returns the archive that the cursor left.
func (c *Cursor) Archive() *Archive { return c.from }

// Record returns the record that was read last. It is valid until the cursor moves. Its Number is
// -1 if the number of records before it is not known. For a mark between two archives, File and Raw
// are nil and Offset is -1.
func (c *Cursor) Record() *Record {
	if c.joint {
		return &c.mark
	}
	return &c.w.rec
}

// Contains reports whether the record that was read last has a value set of one of ids. It reads
// only the PMIDs in the record, so for few ids it is faster than Result.
func (c *Cursor) Contains(ids ...pdu.PMID) bool {
	return !c.joint && c.w.rec.Raw != nil && c.w.rec.contains(ids)
}

// Select finds the value sets that s selects in the record that was read last, and reports whether
// there are any. It does not copy: the sets are valid until the cursor moves. Select decodes only
// these sets, and so is several times as fast as Result. A malformed record is pdu.ErrLogRec.
func (c *Cursor) Select(s *pdu.Selection) (bool, error) {
	if c.joint || c.w.rec.Raw == nil {
		return s.Find(pdu.FormatArchive, noSets[:])
	}
	found, err := c.w.rec.find(s)
	if err != nil && c.set.tolerate(c.from, err) == nil {
		return s.Find(pdu.FormatArchive, noSets[:])
	}
	return found, err
}

// noSets is the body of a mark.
var noSets [16]byte

// Result decodes the record that was read last. It does not copy: the result is valid until the
// cursor moves, and must not be changed. A mark has no value sets. A malformed record is
// pdu.ErrLogRec.
func (c *Cursor) Result() (*pdu.Result, error) {
	if c.joint || c.w.rec.Raw == nil {
		c.empty.Time = c.Time()
		return &c.empty, nil
	}
	if !c.decoded {
		err := c.w.rec.resultInPlace(&c.w.result)
		if err != nil && c.set.tolerate(c.from, err) == nil {
			c.empty.Time = c.w.rec.Time
			return &c.empty, nil
		}
		if err != nil {
			return nil, err
		}
		c.decoded = true
	}
	return &c.w.result, nil
}

// Decode is like Result but copies the values to r, which the caller owns.
func (c *Cursor) Decode(r *pdu.Result) error {
	if c.joint || c.w.rec.Raw == nil {
		*r = pdu.Result{Time: c.Time()}
		return nil
	}
	err := c.w.rec.Result(r)
	if err != nil && c.set.tolerate(c.from, err) == nil {
		*r, err = pdu.Result{Time: c.w.rec.Time}, nil
	}
	return err
}
