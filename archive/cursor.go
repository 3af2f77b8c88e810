package archive

import (
	"errors"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Cursor goes over the data records of a set in the order of the files, which is that of
// time. It stands between two records, or before the first, or after the last. Next and Prev
// read the record after and before it and move over that, so that Prev after Next reads the
// same record again.
//
// Between two archives of a set lies a mark that is in no file. Read by Next, its time is
// a millisecond after the last record before it, read by Prev a millisecond before the start
// of the archive after it.
//
// One goroutine at a time may use a Cursor. Any number of cursors may be on one Set.
type Cursor struct{}

// Next reads the next record. After the last one the error is pdu.ErrEOL itself; later,
// when a record has been appended, Next reads it.
//
// A malformed record is pdu.ErrLogRec, and the cursor stays before it; one of which the end
// is missing is io.ErrUnexpectedEOF, too. Where an archive ends later than the next one
// begins the error is pdu.ErrLogOverlap in place of the mark between them, and where volumes
// are missing pdu.ErrLogFile; both are reported once, after which Next goes on.
func (c *Cursor) Next() error { return errors.ErrUnsupported }

// Prev reads the record before. Before the first one the error is pdu.ErrEOL itself; see Next
// for the other ones.
func (c *Cursor) Prev() error { return errors.ErrUnsupported }

// SeekNext moves to where Next reads the first record at or after a time.
func (c *Cursor) SeekNext(t time.Time) error { return errors.ErrUnsupported }

// SeekPrev moves to where Prev reads the last record at or before a time.
func (c *Cursor) SeekPrev(t time.Time) error { return errors.ErrUnsupported }

// SeekStart moves to before the first record.
func (c *Cursor) SeekStart() {}

// SeekEnd moves to after the last complete record.
func (c *Cursor) SeekEnd() error { return errors.ErrUnsupported }

// A Pos is a place between two records of a set. Two of them are equal if they are the same
// place.
type Pos struct{}

// Pos is where the cursor stands.
func (c *Cursor) Pos() Pos { return Pos{} }

// SetPos moves to where the cursor, or another one of the same Set, has been.
func (c *Cursor) SetPos(p Pos) {}

// Time is the time of the record that was read last.
func (c *Cursor) Time() time.Time { return time.Time{} }

// Mark reports whether the record that was read last is a mark.
func (c *Cursor) Mark() bool { return false }

// Archive is the archive of the record that was read last; of a mark between two archives,
// the one that was left.
func (c *Cursor) Archive() *Archive { return nil }

// Record is the record that was read last, valid until the cursor moves. Its Number is -1
// if the cursor has come to it by a seek. Of a mark between two archives File and Raw
// are nil and Offset is -1.
func (c *Cursor) Record() *Record { return nil }

// Contains reports whether the record that was read last has a value set of one of ids. It
// is quick, and looks at nothing else in the record.
func (c *Cursor) Contains(ids ...pdu.PMID) bool { return false }

// Result decodes the record that was read last, without a copy: it is valid until the cursor
// moves. That of a mark has no sets. A malformed one is pdu.ErrLogRec.
func (c *Cursor) Result() (*pdu.Result, error) { return nil, errors.ErrUnsupported }

// Decode is Result with a copy: r is the caller's and lasts.
func (c *Cursor) Decode(r *pdu.Result) error { return errors.ErrUnsupported }
