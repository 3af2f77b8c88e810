package archive

import (
	"errors"
	"io"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An archiveEnd is the end of an archive: where the last complete record ends, and its time.
type archiveEnd struct {
	time   time.Time
	volume int
	offset int64
	rest   error // the error of the bytes after it; nil without such bytes
}

// An endKey shows whether an archive has grown: it has the last volume and its size.
type endKey struct {
	volume int
	size   int64
}

// End returns the time of the last complete record. It reads the volumes again if the last one has
// grown. Errors: pdu.ErrLogRec if no volume has a complete record, pdu.ErrLogFile with
// Options.MetadataOnly. End is the counterpart of pmGetArchiveEnd(3).
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
	var first, rest error
	for i := len(volumes) - 1; i >= 0; i-- {
		e, ok, err := a.endOf(st, volumes[i].Number)
		if rest == nil {
			rest = e.rest
		}
		if ok {
			e.rest = rest
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

// endOf finds the last complete record of a volume. It reads backward from the end of the file. If
// that fails, it reads forward from the last index entry that leads to a complete record, or else
// from the start of the volume.
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
		return archiveEnd{time: w.rec.Time, volume: volume, offset: size}, true, nil
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

// lastFrom reads forward from off while records can be decoded, and returns the end of the last
// one. ok is false if the first record cannot be decoded.
func (w *walker) lastFrom(off int64) (e archiveEnd, ok bool) {
	w.off = off
	for {
		at := w.off
		found, err := w.nextIn()
		if err == nil && found {
			err = w.rec.resultInPlace(&w.result)
		}
		if err == nil && !found && at < w.win.size {
			err = w.failed(cutShort(pdu.ErrLogRec, "%d bytes at the end of the file", w.win.size-at))
		}
		if err != nil || !found {
			e.rest = err
			return e, ok
		}
		e, ok = archiveEnd{time: w.rec.Time, volume: w.file.volume, offset: w.off}, true
	}
}

// sound reports whether the record that was read last can be decoded.
func (w *walker) sound() bool { return w.rec.resultInPlace(&w.result) == nil }

// CheckEnd calls Options.Damaged if the last archive ends with an incomplete record, and returns
// the result. It calls Damaged only once for an archive. A program that stops at such a record
// without an error calls CheckEnd to notice the loss. With Options.Growing, CheckEnd does nothing.
func (s *Set) CheckEnd() error {
	a := s.archives[len(s.archives)-1]
	if a.opts.Growing {
		return nil
	}
	e, err := a.end()
	if err != nil {
		return nil // End returns it
	}
	if !errors.Is(e.rest, io.ErrUnexpectedEOF) {
		return nil // reading returns it
	}
	return a.reportDamage(e.rest)
}
