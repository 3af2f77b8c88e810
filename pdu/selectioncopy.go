package pdu

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
)

// Result copies the sets into r, in the order of the metrics, as a result of FormatHighRes with the
// time t. profiles[i] selects the instances of the metric at index i; nil profiles select all. A
// malformed set is ErrIPC and a result of more than 2 GiB is ErrTooBig; r is then empty.
func (s *Selection) Result(r *Result, t time.Time, profiles []InDomProfile) error {
	r.Format, r.Changed, r.Time = FormatHighRes, 0, t
	size := s.now.size
	if profiles != nil {
		size = 0
		for i := range s.ids {
			size += int64(s.size(i, &profiles[i]))
		}
	}
	size += int64(r.Format.prefix() - HeaderLen)
	c := setCopier{body: s.body, room: MaxLen - HeaderLen - size}
	if c.room < 0 {
		return s.tooBig(r)
	}
	c.out, _ = appendPrefix(slices.Grow(r.buf[:0], int(size)), r.Format, len(s.ids), t.Unix(), int64(t.Nanosecond())) // fails with low resolution alone
	c.at = len(c.out)
	c.out = c.out[:size]
	c.lowest, c.left = s.now.end(), s.mostBlocks()
	sets := slices.Grow(r.sets[:0], len(s.ids)+1)[:len(s.ids)+1]
	ok := true
	for i, in := range s.now.spans {
		sets[i] = int32(c.at)
		if in.to == 0 {
			binary.BigEndian.PutUint64(c.out[c.at:], uint64(s.ids[i])<<32)
			c.at += setHeadLen
			continue
		}
		set := s.body[in.from:in.to]
		if profiles == nil && len(set) > setHeadLen && c.copyInOrder(set) {
			continue
		}
		var e *InDomProfile
		if profiles != nil && !profiles[i].All() {
			e = &profiles[i]
		}
		if ok = c.copy(set, e); !ok {
			break
		}
	}
	sets[len(s.ids)] = int32(c.at)
	c.flush()
	r.buf, r.sets = c.out, sets
	switch {
	case c.room < 0:
		return s.tooBig(r)
	case !ok || c.bad:
		return r.fail(&wire.Error{Field: "value set", Offset: HeaderLen, Problem: "value blocks outside of the body, or shared"})
	}
	return nil
}

// tooBig empties r, which is longer than a PDU can be.
func (s *Selection) tooBig(r *Result) error {
	_ = r.fail(nil)
	return refuse(r.Kind(), ErrTooBig, "result exceeds 2 GiB")
}

// size is the length of the set of the metric at index i with the instances that e selects.
func (s *Selection) size(i int, e *InDomProfile) int {
	set := s.At(i)
	n := 0
	for j := range set.Len() {
		if e.Includes(set.Inst(j)) {
			n++
		}
	}
	if n == 0 {
		return setHeadLen
	}
	return setHeadLen + 4 + n*valueLen
}

// A setCopier copies sets of a body. Blocks that follow each other it copies at once.
type setCopier struct {
	body []byte
	out  []byte // the sets, as long as they will be, and the blocks
	at   int    // where the next set begins in out

	first, next uint32 // the indexes of blocks in body that are not copied yet
	moved       uint32 // from there to their indexes in out
	left        int64  // how many bytes of blocks there may be in a good body
	room        int64  // and in a result
	bad         bool   // whether any were not in the body, or too many
	lowest      int64  // where in body blocks may begin
}

// copyInOrder copies a set of values in blocks that follow each other. If it is another, it does
// nothing.
func (c *setCopier) copyInOrder(set []byte) bool {
	first, next, ok := blocksInOrder(set, c.body, c.lowest)
	if !ok {
		return false
	}
	if first != c.next {
		c.jump(first)
	}
	out := c.out[c.at : c.at+len(set)]
	if len(set) == len(singleSet{}) {
		*(*singleSet)(out) = singleSet(set) // quicker than a call
	} else {
		copy(out, set)
	}
	for i, values := 0, wire.Octets(out[setHeadLen+4:]); i < len(values); i++ {
		binary.BigEndian.PutUint32(values[i][4:], binary.BigEndian.Uint32(values[i][4:])+c.moved)
	}
	c.at += len(set)
	c.next = next
	return true
}

// InOrder reports whether all sets have their values in place or in consecutive blocks, as all
// writers encode them. If so, no set is malformed, and Result can fail only with ErrTooBig.
func (s *Selection) InOrder() bool {
	blocks := int64(0)
	for _, in := range s.now.spans {
		set := s.body[in.from:in.to]
		if len(set) <= setHeadLen || binary.BigEndian.Uint32(set[setHeadLen:]) == valInsitu {
			continue
		}
		first, next, ok := blocksInOrder(set, s.body, s.now.end())
		if !ok || int64(next)*4-HeaderLen > int64(len(s.body)) {
			return false
		}
		blocks += int64(next-first) * 4
	}
	return blocks <= s.mostBlocks()
}

// end is where the sets end in the body.
func (sh *shape) end() int64 {
	if n := len(sh.ends); n > 0 {
		return int64(sh.ends[n-1])
	}
	return 0
}

// mostBlocks is how many bytes of blocks there may be in a good body: they do not overlap.
func (s *Selection) mostBlocks() int64 { return int64(len(s.body)) * int64(1+s.again) }

// blocksInOrder returns the index of the first block of a set, and that behind the last one, which
// may be beyond the body. It fails if the values are not in blocks, or these do not follow each
// other, from lowest on.
func blocksInOrder(set, body []byte, lowest int64) (first, next uint32, ok bool) {
	if form := binary.BigEndian.Uint32(set[setHeadLen:]); form != valDPtr && form != valSPtr {
		return 0, 0, false
	}
	values := wire.Octets(set[setHeadLen+4:])
	first = binary.BigEndian.Uint32(values[0][4:])
	if int64(first)*4-HeaderLen < lowest {
		return 0, 0, false
	}
	done := eightsInOrder(values, body, first)
	next = first + uint32(done)*eightLen/4
	for _, v := range values[done:] {
		index := binary.BigEndian.Uint32(v[4:])
		at := int64(index)*4 - HeaderLen
		if index != next || at < lowest || at > int64(len(body)-blockHeadLen) {
			return 0, 0, false
		}
		n := binary.BigEndian.Uint32(body[at:]) & maxBlockLen
		if n < blockHeadLen {
			return 0, 0, false
		}
		next = index + (n+3)/4 // not by what it was, which would be a chain of additions
	}
	return first, next, true
}

// eightsInOrder is how many of the first values are in blocks of eight bytes each that follow each
// other from the index next on. It looks at many at a time: the next ones are others, or few.
func eightsInOrder(values [][valueLen]byte, body []byte, next uint32) (done int) {
	at := int64(next)*4 - HeaderLen
	if at < 0 || at > int64(len(body)) {
		return 0
	}
	for b := body[at:]; len(values) >= many && len(b) >= manyBlocks; b = b[manyBlocks:] {
		if indexFlaws((*[many][valueLen]byte)(values), next)|headFlaws((*[manyBlocks]byte)(b), maxBlockLen, eightLen) != 0 {
			break
		}
		next += manyBlocks / 4
		values = values[many:]
		done += many
	}
	return done
}

// copy copies a set, and reports whether its form and its blocks are well-formed. The rest of the
// set has been checked. e selects instances; nil selects all.
func (c *setCopier) copy(set []byte, e *InDomProfile) bool {
	out := c.out[c.at:]
	if len(set) == setHeadLen {
		copy(out, set)
		c.at += setHeadLen
		return true
	}
	form := binary.BigEndian.Uint32(set[setHeadLen:])
	if form > valSPtr {
		return false
	}
	if form == valInsitu && e == nil { // there is nothing to move or to check
		copy(out, set)
		c.at += len(set)
		return true
	}
	d := setHeadLen + 4
	for _, v := range wire.Octets(set[d:]) {
		value := binary.BigEndian.Uint64(v[:])
		if e != nil && !e.Includes(InstID(value>>32)) {
			continue
		}
		if form != valInsitu {
			index := uint32(value)
			if index != c.next {
				c.jump(index)
				out = c.out[c.at:]
			}
			off, n, ok := blockAt(c.body, index)
			if !ok || int64(off) < c.lowest {
				return false
			}
			c.next += uint32(wire.Pad4(n) / 4)
			value = value&^math.MaxUint32 | uint64(index+c.moved)
		}
		binary.BigEndian.PutUint64(out[d:], value)
		d += valueLen
	}
	values := uint64(d-setHeadLen-4) / valueLen
	binary.BigEndian.PutUint64(out, binary.BigEndian.Uint64(set)&^math.MaxUint32|values)
	if values == 0 { // none is selected
		c.at += setHeadLen
		return true
	}
	binary.BigEndian.PutUint32(out[setHeadLen:], form)
	c.at += d
	return true
}

// jump copies the blocks so far, and goes on with the block at an index.
func (c *setCopier) jump(index uint32) {
	c.flush()
	c.first, c.next = index, index
	c.moved = uint32(len(c.out)+HeaderLen)/4 - index
}

// flush copies the blocks, or notes that they reach beyond the body, or are too many.
func (c *setCopier) flush() {
	from, to := int64(c.first)*4-HeaderLen, int64(c.next)*4-HeaderLen
	if from == to {
		return
	}
	c.left -= to - from
	c.room -= to - from
	if c.bad = c.bad || to > int64(len(c.body)) || c.left < 0 || c.room < 0; !c.bad {
		c.out = append(c.out, c.body[from:to]...)
	}
}
