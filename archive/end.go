package archive

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An archiveEnd is the end of an archive: where the last complete record ends, and its time.
type archiveEnd struct {
	time   time.Time
	volume int
	offset int64
}

// An endKey tells whether an archive has grown: its last volume and the size of that.
type endKey struct {
	volume int
	size   int64
}

// End is the time of the last complete record. It looks at the last volume anew. If no
// volume has a record, the error is pdu.ErrLogRec. The counterpart of pmGetArchiveEnd(3).
func (a *Archive) End() (time.Time, error) {
	e, err := a.end()
	return e.time, err
}

func (a *Archive) end() (archiveEnd, error) {
	a.endMu.Lock()
	defer a.endMu.Unlock()
	st := a.state.Load()
	volumes := st.files.Volumes
	if len(volumes) == 0 {
		return archiveEnd{}, inFile(a.base, flawed(pdu.ErrLogFile, "opened for its metadata alone"))
	}
	last := volumes[len(volumes)-1].Number
	size, err := a.size(a.set.ctx, st, last)
	if err != nil {
		return archiveEnd{}, err
	}
	key := endKey{last, size}
	if size > 0 && key == a.endKey {
		return a.ended, nil
	}
	var first error
	for i := len(volumes) - 1; i >= 0; i-- {
		e, ok, err := a.endOf(st, volumes[i].Number)
		if ok {
			a.ended, a.endKey = e, key
			return e, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = inFile(a.base, flawed(pdu.ErrLogRec, "no complete record in any volume"))
	}
	return archiveEnd{}, first
}

// endOf looks for the last complete record of a volume: back from the end of the file, or
// else forward from the last place of the index before which there is a complete record.
func (a *Archive) endOf(st *archiveState, volume int) (e archiveEnd, ok bool, err error) {
	w := newWalker(a)
	w.volume = volume
	if err := w.enter(volume); err != nil {
		return e, false, err
	}
	size, err := w.file.Size()
	if err != nil || size <= w.first() {
		return e, false, err
	}
	w.off = size
	if found, _ := w.prevIn(); found && w.sound() {
		return archiveEnd{w.rec.Time, volume, size}, true, nil
	}
	for i := len(st.index) - 1; i >= 0 && !ok; i-- {
		if at := st.index[i]; at.Volume == volume && at.Data >= w.first() && at.Data < size {
			e, ok = w.lastFrom(at.Data)
		}
	}
	if !ok {
		e, ok = w.lastFrom(w.first())
	}
	return e, ok, nil
}

// lastFrom goes forward from off as long as records are sound, and returns the last one. If
// the first one is not, there is none.
func (w *walker) lastFrom(off int64) (e archiveEnd, ok bool) {
	w.off = off
	for {
		if found, err := w.nextIn(); !found || err != nil || !w.sound() {
			return e, ok
		}
		e, ok = archiveEnd{w.rec.Time, w.file.volume, w.off}, true
	}
}

// sound reports whether the record that was read last can be decoded.
func (w *walker) sound() bool { return w.rec.resultInPlace(&w.result) == nil }
