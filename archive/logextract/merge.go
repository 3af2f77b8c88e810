package logextract

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// An inputState says what comes next in an input.
type inputState int

const (
	readNext inputState = iota // nothing is pending
	hasRecord
	hasMark // a mark after its end is pending
	ended
)

// markGap is the time from a record to the mark after it.
const markGap = time.Millisecond

// buffer is the size of the write buffer in bytes.
const buffer = 512 << 10

// indexEvery is the number of bytes of a volume between index entries, as in PCP's writers.
const indexEvery = 100_000

// A merger writes the output.
type merger struct {
	*Job
	meta        *metadata
	out         *archive.Writer
	from, until time.Time
	written     int       // number of records, marks included
	time        time.Time // of the last record written, or of the last one of an input that ended
	empty       int       // days since the last record

	missing  []*metric // metrics without a descriptor in the record being scanned
	blocks   []byte    // value blocks of the record being repacked
	pointers []int     // positions of the block offsets in that record

	entry   archive.IndexEntry // last index entry
	indexAt int64              // size of the volume at which the next entry is due
}

// Run writes the output. Errors are *ConflictError, ErrNoRecords, *archive.Error, and the cause of
// ctx. After an error the files are removed, unless Desperate keeps them.
func (j *Job) Run(ctx context.Context) error {
	m := &merger{Job: j, from: j.From, until: j.Until}
	if m.until.IsZero() {
		m.until = j.last
	}
	err := m.make(ctx)
	if err == nil && m.written == 0 {
		err = ErrNoRecords
	}
	m.begun = m.written > 0
	if m.out != nil {
		if closing := m.out.Close(); err == nil {
			err = closing
		}
	}
	if err != nil && !j.Desperate && m.out != nil {
		if left := m.out.Discard(); left != nil {
			err = errors.Join(err, left)
		}
	}
	return err
}

func (m *merger) make(ctx context.Context) error {
	var err error
	if m.meta, err = m.loadMetadata(); err != nil {
		return err
	}
	label := m.label
	label.Start = time.Time{} // the Writer sets it from the first record
	if m.out, err = (archive.WriterOptions{Label: label, IndexEvery: -1, Buffer: buffer}).Create(m.output); err != nil {
		return err
	}
	m.meta.out = m.out
	for n := 0; m.Records == 0 || m.written < m.Records; n++ {
		if n%64 == 0 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		more, err := m.step()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return m.endIndex()
}

// step writes the earliest pending record or mark. more is false when nothing is left to write.
func (m *merger) step() (more bool, err error) {
	var next *input
	for _, in := range m.inputs {
		if in.state == readNext {
			if err := m.read(in); err != nil {
				return false, err
			}
		}
		if in.state != ended && (next == nil || in.time.Before(next.time)) {
			next = in
		}
	}
	switch {
	case next == nil || next.time.After(m.last):
		return false, nil
	case next.time.After(m.until):
		return m.roll(next.time)
	case next.state == hasMark:
		next.state = ended
		return true, m.markBetween(next)
	}
	next.state = readNext
	return true, m.write(next)
}

// maxEmptyDays is the maximum number of consecutive days without a record that get a mark each. The
// rest of a gap is skipped, so the work depends on the number of records and not on their dates.
const maxEmptyDays = 1000

// roll moves the window by a day, or after many empty days to the day of the next record.
func (m *merger) roll(next time.Time) (more bool, err error) {
	if !m.Daily {
		return false, nil
	}
	days := int64(1)
	if m.empty++; m.empty > maxEmptyDays {
		days = max(days, (next.Unix()-m.until.Unix())/secondsPerDay)
	}
	until := addDays(m.until, days)
	if !until.After(m.until) { // overflow of the time
		return false, nil
	}
	m.from, m.until = addDays(m.from, days), until
	if m.from.After(m.last) {
		return false, nil
	}
	if m.written > 0 {
		if err := m.mark(); err != nil {
			return false, err
		}
	}
	for _, in := range m.inputs {
		if in.state == hasRecord && in.time.Before(m.from) {
			in.state = readNext
		}
	}
	return true, nil
}

// secondsPerDay ignores leap seconds and changes of the clock, as PCP's tool does.
const secondsPerDay = 24 * 60 * 60

// addDays adds days to t. Their number may exceed a time.Duration.
func addDays(t time.Time, days int64) time.Time {
	return time.Unix(t.Unix()+days*secondsPerDay, int64(t.Nanosecond()))
}

// mark writes a mark after the last record.
func (m *merger) mark() error {
	m.time = m.time.Add(markGap)
	if err := m.out.WriteMark(m.time); err != nil {
		return err
	}
	m.written++
	return nil
}

// markBetween writes the mark after the end of an input, if it needs one.
func (m *merger) markBetween(in *input) error {
	m.time = in.read
	var next *input
	for _, other := range m.inputs {
		if other.state != ended && (next == nil || other.time.Before(next.time)) {
			next = other
		}
	}
	if next == nil || !m.Marks && in.session.known() && in.session == next.session {
		return nil
	}
	return m.mark()
}

// read reads the next record of an input that belongs to the output.
func (m *merger) read(in *input) error {
	for {
		err := in.cur.Next()
		if errors.Is(err, pdu.ErrLogFile) { // a volume is missing before the next one
			continue
		}
		if err != nil {
			return m.endOf(in, err)
		}
		in.read = in.cur.Time()
		in.session.see(in.cur.Record())
		if in.read.Before(m.from) {
			continue
		}
		in.rec = *in.cur.Record()
		in.state, in.time = hasRecord, in.read
		kept, err := m.pickFrom(in)
		if err != nil {
			return m.endOf(in, err)
		}
		if kept {
			return nil
		}
	}
}

// endOf ends an input because of err, and leaves at most a mark pending. Damage to the input is
// only a warning.
func (m *merger) endOf(in *input, err error) error {
	if err != pdu.ErrEOL {
		_, ok := errors.AsType[*archive.Error](err)
		if !ok || !errors.Is(err, pdu.ErrLogRec) && !errors.Is(err, pdu.ErrLabel) { // of a volume of another archive
			return err
		}
		m.warn(&InputError{"read", in.name, err})
	}
	in.state = ended
	if m.written > 0 {
		in.state, in.time = hasMark, in.read
	}
	return nil
}

// write writes the pending record of an input, with the metadata that it needs.
func (m *merger) write(in *input) error {
	indom := false
	if in.rec.Kind == archive.KindResult {
		var err error
		if indom, err = m.meta.describe(in); err != nil {
			return err
		}
	}
	if m.VolumeRecords > 0 && m.written > 0 && m.written%m.VolumeRecords == 0 {
		m.out.NewVolume()
	}
	before, _ := m.out.Place()
	var err error
	if in.rec.Kind == archive.KindResult {
		err = m.out.WriteRaw(in.rec.Raw, in.time)
	} else {
		err = m.out.WriteRecord(&in.rec)
	}
	if err != nil {
		return err
	}
	m.written++
	m.time, m.empty = in.time, 0
	place, end := m.out.Place()
	begins := m.written == 1 || place.Volume != before.Volume
	if begins && m.written > 1 && m.NewVolume != nil {
		m.NewVolume(place.Volume, place.Time)
	}
	if !begins && !indom && end.Data <= m.indexAt {
		return nil
	}
	m.indexAt = end.Data + indexEvery
	if place.Time.Unix() == 0 { // PCP's tool takes it for no time
		return nil
	}
	return m.index(place)
}

// index writes an entry of the index.
func (m *merger) index(e archive.IndexEntry) error {
	m.entry = e
	return m.out.WriteIndex(e)
}

// endIndex writes the last entry of the index.
func (m *merger) endIndex() error {
	place, end := m.out.Place()
	if m.written == 0 {
		return nil
	}
	if m.entry != place {
		end.Data = place.Data
	}
	end.Time = m.time
	return m.out.WriteIndex(end)
}

// A session identifies the run of a collector that was recorded; see package session. 0 is a valid
// value: loggers record it if they cannot ask the collector.
type session struct {
	pmcd, seqnum       uint64
	hasPMCD, hasSeqnum bool
}

func (s session) known() bool { return s.hasPMCD && s.hasSeqnum }

// see updates the session from a record of five metrics, as prologue and epilogue have.
func (s *session) see(r *archive.Record) {
	if r.Kind != archive.KindResult {
		return
	}
	at := 20
	if r.File == nil || r.Raw == nil {
		return
	}
	if l, err := r.File.Label(); err != nil || l.Version == 2 {
		at = 16
	}
	if len(r.Raw) < at+4 || binary.BigEndian.Uint32(r.Raw[at-4:]) != 5 {
		return
	}
	var res pdu.Result
	if r.Result(&res) != nil {
		return
	}
	for _, set := range res.All() {
		if set.Len() != 1 {
			continue
		}
		switch set.PMID {
		case pmcdPID:
			s.pmcd, s.hasPMCD = onlyNumber(set, pdu.TypeU64)
		case pmcdSeqnum:
			s.seqnum, s.hasSeqnum = onlyNumber(set, pdu.TypeU32)
		}
	}
}

// onlyNumber returns the only value of a set; ok is false if it is not a number.
func onlyNumber(set pdu.ValueSet, typ pdu.Type) (n uint64, ok bool) {
	n, err := pdu.As[uint64](set.Atom(0, typ))
	return n, err == nil
}

var pmcdPID, pmcdSeqnum = pdu.MakePMID(2, 0, 23), pdu.MakePMID(2, 0, 24)
