package archive

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// leastWindow and mostWindow limit the bytes that a cursor reads at once. It reads few bytes after
// a jump, and more with each further read from there.
const (
	leastWindow = 32 << 10
	mostWindow  = 256 << 10
)

// A window reads a file through a buffer, forward and back.
type window struct {
	r    source
	size int64  // length of the file when it was last requested
	off  int64  // of buf in the file
	buf  []byte // the bytes at off
	span int64  // number of bytes to read next
	last int    // the length of the record that was read last
	back bool   // whether prev was called since the buffer was filled
}

// open makes the window read another file.
func (w *window) open(r source) { *w = window{r: r, buf: w.buf[:0]} }

// has reports whether the file has at least end bytes. If the last known size is smaller, it gets
// the size again.
func (w *window) has(end int64) (bool, error) {
	if end <= w.size {
		return true, nil
	}
	info, err := w.r.Stat()
	if err != nil {
		return false, withoutPath(err)
	}
	w.size = info.Size()
	return end <= w.size, nil
}

// bytes returns n bytes from off, which must be within the file. They are valid until the next
// call. ahead says whether to read further bytes after them or before them.
func (w *window) bytes(off int64, n int, ahead bool) ([]byte, error) {
	if at := off - w.off; at >= 0 && at+int64(n) <= int64(len(w.buf)) {
		w.back = w.back || !ahead
		return w.buf[at : at+int64(n) : at+int64(n)], nil
	}
	if goesOn := off <= w.off+int64(len(w.buf)) && off+int64(n) >= w.off; goesOn {
		w.span = min(max(2*w.span, leastWindow), mostWindow)
	} else {
		w.span = leastWindow
	}
	from, end := off, off+int64(n)
	if ahead {
		end = max(end, off+w.span)
		if w.back { // a reader that changes direction often returns to the previous record
			from = max(0, off-int64(w.last))
		}
	} else {
		// Part of the window lies after the record, because the next read may be forward.
		from = max(0, min(off, end-w.span*3/4))
		end = max(end, from+w.span)
	}
	w.back = !ahead
	err := w.fill(from, int(min(end, w.size)-from))
	at := off - w.off
	if at+int64(n) > int64(len(w.buf)) {
		if err == nil || errors.Is(err, io.EOF) { // the file is shorter than before
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return w.buf[at : at+int64(n) : at+int64(n)], nil
}

// holds reports whether the buffer has n bytes from off.
func (w *window) holds(off, n int64) bool { return off >= w.off && off+n <= w.off+int64(len(w.buf)) }

// fill reads n bytes from off. It keeps those that the buffer has already.
func (w *window) fill(off int64, n int) error {
	kept := 0
	if at := off - w.off; at >= 0 && at < int64(len(w.buf)) {
		kept = min(copy(w.buf, w.buf[at:]), n)
	}
	w.buf = slices.Grow(w.buf[:kept], n-kept)[:kept]
	w.off = off
	m, err := w.r.ReadAt(w.buf[kept:n], off+int64(kept))
	w.buf = w.buf[:kept+m]
	return err
}

// recordOverhead is the length of the words before and after a record.
const recordOverhead = 8

// next returns the record that starts at off, or nil at the end of the file. least is the minimum
// length of a record.
func (w *window) next(off int64, least int) ([]byte, error) {
	if more, err := w.has(off + 4); !more {
		if err == nil && w.size > off {
			err = cutShort(pdu.ErrLogRec, "%d bytes at the end of the file", w.size-off)
		}
		return nil, err
	}
	head, err := w.bytes(off, 4, true)
	if err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head))
	if int(n) < least {
		return nil, flawed(pdu.ErrLogRec, "record of %d bytes, want at least %d", n, least)
	}
	if int64(n) > MaxRecord {
		return nil, flawed(pdu.ErrLogRec, "record of %d bytes, more than %d", n, int64(MaxRecord))
	}
	if more, err := w.has(off + int64(n)); !more {
		if err == nil {
			err = cutShort(pdu.ErrLogRec, "record of %d bytes, of which the file has %d", n, w.size-off)
		}
		return nil, err
	}
	rec, err := w.bytes(off, int(n), true)
	if err != nil {
		return nil, err
	}
	if tail := int32(binary.BigEndian.Uint32(rec[n-4:])); tail != n {
		return nil, flawed(pdu.ErrLogRec, "record begins with length %d, ends with %d", n, tail)
	}
	w.last = int(n)
	return rec, nil
}

// prev returns the record that ends at end. It must not start before first. At first, prev returns
// nil.
func (w *window) prev(first, end int64, least int) ([]byte, error) {
	if end == first {
		return nil, nil
	}
	if end-first < int64(least) {
		return nil, flawed(pdu.ErrLogRec, "%d bytes before the first record", end-first)
	}
	if more, err := w.has(end); !more {
		if err == nil {
			err = cutShort(pdu.ErrLogRec, "the file has %d bytes, fewer than before", w.size)
		}
		return nil, err
	}
	tail, err := w.bytes(end-4, 4, false)
	if err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(tail))
	if int(n) < least || int64(n) > min(end-first, MaxRecord) {
		return nil, flawed(pdu.ErrLogRec, "record ends with length %d, of %d bytes before it", n, end-first)
	}
	rec, err := w.bytes(end-int64(n), int(n), false)
	if err != nil {
		return nil, err
	}
	if head := int32(binary.BigEndian.Uint32(rec)); head != n {
		return nil, flawed(pdu.ErrLogRec, "record ends with length %d, begins with %d", n, head)
	}
	w.last = int(n)
	return rec, nil
}
