package archive

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A walker reads the data records of one archive. Like that of a Cursor, its position is between
// two records.
type walker struct {
	arch   *Archive
	volume int    // of the position
	off    int64  // of the position in the volume
	file   *File  // the open volume, or nil
	win    window // on file
	rec    Record // the record that was read last
	end    int64  // where rec ends
	result pdu.Result

	skims bool // whether to read only the start and end of long records
	skim  skim
	head  []byte // memory for the start of a record

	counted struct { // see count
		file   *File
		off    int64
		number int
	}
	// skipMissing ignores missing volumes.
	skipMissing bool
}

// newWalker returns a walker at the start of an archive.
func newWalker(a *Archive) *walker {
	w := &walker{}
	w.start(a)
	return w
}

// start moves to the start of an archive.
func (w *walker) start(a *Archive) {
	if a != w.arch {
		w.arch, w.file = a, nil
	}
	w.volume, w.off = a.firstVolume(), w.first()
}

// version returns the version of the archive.
func (w *walker) version() int { return w.arch.label.Version }

// first returns the offset of the first record of a volume.
func (w *walker) first() int64 { return w.arch.label.Len() }

// enter opens a volume but does not move there.
func (w *walker) enter(volume int) error {
	if w.file != nil && w.file.volume == volume {
		return nil
	}
	f, src, err := w.arch.dataFile(volume)
	if err != nil {
		return err
	}
	w.file = f
	w.win.open(src)
	w.skim.n = 0
	return nil
}

// nextIn reads the record after the current position and moves past it. found is false at the end
// of the volume.
func (w *walker) nextIn() (found bool, err error) {
	if err := w.enter(w.volume); err != nil {
		return false, err
	}
	if w.skims && w.skimNext() {
		return true, nil
	}
	// As in the C library, fewer bytes than a length word are the end: more may be written.
	if more, err := w.win.has(w.off + 4); !more {
		return false, inFile(w.file.path, err)
	}
	raw, err := w.win.next(w.off, leastLen(0, w.version()))
	if raw == nil || err != nil {
		return false, w.failed(err)
	}
	w.set(w.off, w.off+int64(len(raw)), raw)
	w.off = w.end
	return true, nil
}

// prevIn reads the record before the current position and moves before it. found is false at the
// start of the volume.
func (w *walker) prevIn() (found bool, err error) {
	if err := w.enter(w.volume); err != nil {
		return false, err
	}
	if w.skims && w.skimPrev() {
		return true, nil
	}
	raw, err := w.win.prev(w.first(), w.off, leastLen(0, w.version()))
	if raw == nil || err != nil {
		return false, inRecord(w.file.path, w.off, -1, err)
	}
	w.set(w.off-int64(len(raw)), w.off, raw)
	w.off = w.rec.Offset
	return true, nil
}

// set notes that the record from off to end was read.
func (w *walker) set(off, end int64, raw []byte) {
	w.rec = Record{File: w.file, Offset: off, Number: w.number(off, end), Raw: raw, version: w.version()}
	w.end = end
	_ = w.rec.classify() // in a volume there is no error
}

// number returns the number of the record from off to end. It is known for the first record, and
// beside the last record read if that has a number. Otherwise number returns -1.
func (w *walker) number(off, end int64) int {
	switch known := w.rec.File == w.file && w.rec.Number > 0; {
	case off == w.first():
		return 1
	case known && off == w.rec.Offset:
		return w.rec.Number
	case known && off == w.end:
		return w.rec.Number + 1
	case known && end == w.rec.Offset:
		return w.rec.Number - 1
	}
	return -1
}

// failed adds the place of the record after the current position to err. It returns nil if err is
// nil.
func (w *walker) failed(err error) error {
	if err == nil {
		return nil
	}
	number := w.number(w.off, -1)
	if number < 0 && !errors.Is(err, io.ErrUnexpectedEOF) { // it may be complete soon
		number = w.count()
	}
	return inRecord(w.file.path, w.off, number, err)
}

// count returns the number of the record at the current position, for errors. It counts from the
// start of the volume, and returns -1 if the records do not lead to the position.
func (w *walker) count() int {
	if w.counted.file == w.file && w.counted.off == w.off {
		return w.counted.number
	}
	v := walker{arch: w.arch, volume: w.volume, off: w.first()}
	number := 1
	for v.off < w.off {
		if found, err := v.nextIn(); !found || err != nil {
			break
		}
		number++
	}
	if v.off != w.off {
		number = -1
	}
	w.counted.file, w.counted.off, w.counted.number = w.file, w.off, number
	return number
}

// next is like nextIn across volumes. found is false at the end of the archive.
func (w *walker) next() (found bool, err error) {
	for {
		if found, err := w.nextIn(); found || err != nil {
			return found, err
		}
		if moved, err := w.nextVolume(); !moved || err != nil {
			return false, err
		}
	}
}

// nextVolume moves to the start of the next volume that is not empty. moved is false if no such
// volume exists.
func (w *walker) nextVolume() (moved bool, err error) {
	st := w.arch.state.Load()
	i, _ := st.find(w.volume)
	before := w.volume
	for i++; i < len(st.files.Volumes); i++ {
		number := st.files.Volumes[i].Number
		err := w.enter(number)
		switch {
		case err == nil:
			missing := w.missing(before, number)
			w.volume, w.off = number, w.first()
			return true, missing
		case errors.Is(err, pdu.ErrNoData):
			before = number
		case i+1 == len(st.files.Volumes) && errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil // its label is still being written
		default:
			return false, err
		}
	}
	return false, nil
}

// prev is like prevIn across volumes. found is false at the start of the archive.
func (w *walker) prev() (found bool, err error) {
	for {
		if found, err := w.prevIn(); found || err != nil {
			return found, err
		}
		if moved, err := w.prevVolume(); !moved || err != nil {
			return false, err
		}
	}
}

// prevVolume moves to the end of the previous volume that is not empty, after its last complete
// record. moved is false if no such volume exists.
func (w *walker) prevVolume() (moved bool, err error) {
	st := w.arch.state.Load()
	i, _ := st.find(w.volume)
	after := w.volume
	for i--; i >= 0; i-- {
		number := st.files.Volumes[i].Number
		e, ok, err := w.arch.endOf(st, number)
		switch {
		case errors.Is(err, pdu.ErrNoData):
			after = number
			continue
		case err != nil:
			return false, err
		}
		missing := w.missing(number, after)
		w.volume, w.off = number, w.first()
		if ok {
			w.off = e.offset
		}
		return true, missing
	}
	return false, nil
}

// missing returns the error about the missing volumes between a and b, or nil.
func (w *walker) missing(a, b int) error {
	if a+1 == b || w.skipMissing {
		return nil
	}
	which := volumeName(a + 1)
	if a+2 < b {
		which = fmt.Sprintf("volumes %d to %d", a+1, b-1)
	}
	return inFile(w.arch.base, flawed(pdu.ErrLogFile, "%s missing between %d and %d", which, a, b))
}

// seek moves to before the first record whose time is past. If past reports true for a time, it
// must do so for all later times.
func (w *walker) seek(past func(time.Time) bool) error {
	w.skipMissing = true
	defer func() { w.skipMissing = false }()
	w.seekIndex(past)
	err := w.seekFrom(past)
	if err != nil { // an entry may lead into the middle of a record
		w.start(w.arch)
		err = w.seekFrom(past)
	}
	return err
}

// seekFrom is like seek but begins at the current position, which may be too late.
func (w *walker) seekFrom(past func(time.Time) bool) error {
	// An entry may denote the end of a record, and it may be wrong.
	for {
		found, err := w.prev()
		if !found || err != nil {
			break
		}
		if !past(w.rec.Time) {
			w.off = w.end
			break
		}
	}
	for {
		found, err := w.next()
		if !found || err != nil {
			return err
		}
		if past(w.rec.Time) {
			w.off = w.rec.Offset
			return nil
		}
	}
}

// seekIndex moves to the place of the last index entry whose time is not past. If that entry is
// wrong, it tries some earlier ones. If none is right, it moves to the start.
func (w *walker) seekIndex(past func(time.Time) bool) {
	st := w.arch.state.Load()
	n := len(st.index)
	isPast := func(i int) bool { return past(st.index[i].Time) }
	if st.ascending {
		n = sort.Search(n, isPast)
	} else {
		for i := range n {
			if isPast(i) {
				n = i
				break
			}
		}
	}
	for back := 1; n > 0; back *= 2 { // try only a few of many wrong entries
		if w.follow(st, &st.index[n-1]) {
			return
		}
		n -= back
	}
	w.start(w.arch)
}

// follow moves to the place of an index entry. It returns false if no record starts there, except
// at the end of the volume.
func (w *walker) follow(st *archiveState, e *IndexEntry) bool {
	if _, ok := st.find(e.Volume); !ok || e.Data < w.first() || w.enter(e.Volume) != nil {
		return false
	}
	if more, err := w.win.has(e.Data); !more || err != nil {
		return false
	}
	w.volume, w.off = e.Volume, e.Data
	found, err := w.nextIn()
	w.off = e.Data
	return err == nil && (found || e.Data == w.win.size)
}
