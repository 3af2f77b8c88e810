package pdu

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// A Selection extracts the value sets of some metrics from a series of encoded results. It skips
// the other sets and does not check their values. It is fast, and does not allocate, when results
// repeat the same metrics and numbers of values. One goroutine at a time may use it.
type Selection struct {
	ids    []PMID
	first  []int32        // for each of ids: the index of its first occurrence
	index  map[PMID]int32 // the inverse of ids, of the first ones
	again  int            // how many of ids have been there before
	shapes map[shapeKey]*shape
	none   *shape // of a body without sets
	now    *shape // of body
	body   []byte
}

// A shapeKey distinguishes shapes by properties that are cheap to read.
type shapeKey struct {
	format Format
	sets   int
	first  PMID
}

// A shape is the heads of the sets of a result and what follows from them.
type shape struct {
	heads []uint64 // of each set: PMID and number of values
	ends  []int32  // of each set: where it ends in the body
	which []int32  // of each set: the first index of the metric, or -1
	spans []span   // of each of the ids: where its first set is
	size  int64    // of these sets, and of empty ones in place of those that are missing
	found bool     // whether there is one
}

// A span is the position of a set in a body. The zero span stands for a missing set.
type span struct{ from, to int32 }

// maxShapes is how many shapes are kept: as many as a logger has groups of metrics that it
// records together.
const maxShapes = 8

// A Selection forgets its other shapes when a result has manySets or more. This limits the memory
// of a Selection to a small multiple of the longest body.
const manySets = 1 << 16

// NewSelection returns a Selection of the metrics ids, which may have duplicates. It copies ids.
func NewSelection(ids []PMID) *Selection {
	s := &Selection{ids: slices.Clone(ids), index: make(map[PMID]int32, len(ids)), shapes: map[shapeKey]*shape{}}
	for i, id := range ids {
		n, ok := s.index[id]
		if !ok {
			n = int32(i)
			s.index[id] = n
		}
		s.first = append(s.first, n)
	}
	s.again = len(ids) - len(s.index)
	s.none = &shape{}
	s.none.reset(len(ids))
	s.now = s.none
	return s
}

// reset makes sh one without sets of n metrics.
func (sh *shape) reset(n int) {
	sh.spans = slices.Grow(sh.spans[:0], n)[:n]
	clear(sh.spans)
	sh.size, sh.found = int64(n)*setHeadLen, false
}

// Find finds the sets in a body of a format, and reports whether it has any. The body must not
// change while the sets are used. A malformed body is ErrIPC and has no sets.
func (s *Selection) Find(f Format, body []byte) (found bool, err error) {
	s.now, s.body = s.none, body
	at := f.prefix() - HeaderLen
	if len(body) < at {
		return false, malformedSet(f, "numpmid", len(body))
	}
	countAt := at - 4
	if f == FormatHighRes {
		countAt = 0
	}
	n := int(int32(binary.BigEndian.Uint32(body[countAt:])))
	if n < 0 || n > (len(body)-at)/setHeadLen {
		return false, malformedSet(f, "numpmid", countAt)
	}
	if n == 0 {
		return false, nil
	}
	sh := s.shape(shapeKey{f, n, PMID(binary.BigEndian.Uint32(body[at:]))})
	if !sh.is(body, at, n) {
		if flaw, off := s.read(sh, at, n); flaw != "" {
			sh.heads, sh.ends, sh.which = sh.heads[:0], sh.ends[:0], sh.which[:0]
			return false, malformedSet(f, flaw, off)
		}
	}
	s.now = sh
	return sh.found, nil
}

// malformedSet is the error about a field at an offset of a body.
func malformedSet(f Format, field string, off int) error {
	return malformedIn(f.Kind(), &wire.Error{Field: field, Offset: off + HeaderLen, Problem: "beyond the end, or unknown"})
}

// shape is the shape that was known for a key, or an empty one.
func (s *Selection) shape(k shapeKey) *shape {
	sh := s.shapes[k]
	if sh == nil {
		if len(s.shapes) == maxShapes || k.sets >= manySets {
			clear(s.shapes)
		}
		sh = &shape{}
		s.shapes[k] = sh
	}
	return sh
}

// is reports whether a body has n sets of this shape.
func (sh *shape) is(body []byte, at, n int) bool {
	if len(sh.heads) != n || int(sh.ends[n-1]) > len(body) {
		return false
	}
	// The next set is where the one before ends in sh, not where its head says: so the
	// processor can look ahead.
	ends := sh.ends[:len(sh.heads)]
	for i, head := range sh.heads {
		if binary.BigEndian.Uint64(body[at:]) != head {
			return false
		}
		at = int(ends[i])
	}
	return true
}

// read makes sh the shape of a body with n sets. If it is malformed, flaw is the field.
func (s *Selection) read(sh *shape, at, n int) (flaw string, off int) {
	sh.reset(len(s.ids))
	known := len(sh.heads)
	sh.heads, sh.ends, sh.which = slices.Grow(sh.heads, n-known)[:n], slices.Grow(sh.ends, n-known)[:n], slices.Grow(sh.which, n-known)[:n]
	for i := range n {
		set := s.body[at:]
		if len(set) < setHeadLen {
			return "value set", at
		}
		head := binary.BigEndian.Uint64(set)
		if i >= known || sh.heads[i]>>32 != head>>32 {
			which, ok := s.index[PMID(head>>32)]
			if !ok {
				which = -1
			}
			sh.which[i] = which
		}
		size := setHeadLen
		if v := int(int32(head)); v > 0 {
			if len(set) < setHeadLen+4 || v > (len(set)-setHeadLen-4)/valueLen {
				return "numval", at + 4
			}
			size += 4 + v*valueLen
		}
		if m := sh.which[i]; m >= 0 && sh.spans[m].to == 0 {
			sh.spans[m], sh.found = span{int32(at), int32(at + size)}, true
		}
		at += size
		sh.heads[i], sh.ends[i] = head, int32(at)
	}
	for i, first := range s.first {
		in := sh.spans[first]
		sh.spans[i] = in
		if in.to > 0 {
			sh.size += int64(in.to-in.from) - setHeadLen
		}
	}
	return "", 0
}

// At returns the set of the metric at index i. It has no values if the body lacks the metric. A
// value is checked when it is read.
func (s *Selection) At(i int) ValueSet {
	in := s.now.spans[i]
	if in.to == 0 {
		return ValueSet{PMID: s.ids[i]}
	}
	return ValueSet{PMID: s.ids[i], off: in.from, buf: s.body}
}
