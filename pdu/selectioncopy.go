package pdu

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
)

// Result makes r a result of FormatHighRes at a time, with the sets of the metrics at the indexes
// of order. Of the metric at index i, profiles[i] selects the instances; nil selects all of all.
// r has a copy. A malformed set is ErrIPC, and r is empty then.
func (s *Selection) Result(r *Result, t time.Time, order []int, profiles []InDomProfile) error {
	r.Format, r.Changed, r.Time = FormatHighRes, 0, t
	size := r.Format.prefix() - HeaderLen
	for _, m := range order {
		size += s.size(m, profiles)
	}
	out, _ := appendPrefix(slices.Grow(r.buf[:0], size), r.Format, len(order), t.Unix(), int64(t.Nanosecond())) // fails with low resolution alone
	c := setCopier{body: s.body, at: len(out), out: out[:size]}
	if s.now != nil {
		c.lowest = int64(s.now.ends[len(s.now.ends)-1])
	}
	// Blocks do not overlap, but a metric may be wanted several times.
	c.left = int64(len(s.body)) * int64(1+max(0, len(order)-len(s.ids)))
	sets := slices.Grow(r.sets[:0], len(order)+1)[:len(order)+1]
	ok := true
	for i, m := range order {
		sets[i] = int32(c.at)
		set := s.At(m)
		if len(set.buf) == 0 {
			binary.BigEndian.PutUint64(c.out[c.at:], uint64(set.PMID)<<32)
			c.at += setHeadLen
			continue
		}
		var e *InDomProfile
		if profiles != nil && !profiles[m].All() {
			e = &profiles[m]
		}
		if ok = c.copy(set.buf[set.off:s.now.spans[m].to], e); !ok {
			break
		}
	}
	sets[len(order)] = int32(c.at)
	ok = ok && c.flush()
	r.buf, r.sets = c.out, sets
	switch {
	case !ok:
		return r.fail(&wire.Error{Field: "value set", Offset: HeaderLen, Problem: "value blocks outside of the body, or shared"})
	case len(c.out) > MaxLen-HeaderLen:
		_ = r.fail(nil)
		return refuse(r.Kind(), ErrTooBig, "result exceeds 2 GiB")
	}
	return nil
}

// size is the length of the set of a metric with the instances that its profile selects.
func (s *Selection) size(m int, profiles []InDomProfile) int {
	set := s.At(m)
	if len(set.buf) == 0 {
		return setHeadLen
	}
	if profiles == nil || profiles[m].All() {
		return int(s.now.spans[m].to - set.off)
	}
	n := 0
	for i := range set.Len() {
		if profiles[m].Includes(set.Inst(i)) {
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
	at   int    // where in out the next set is to be

	first, next uint32 // the indexes of blocks in body that are not copied yet
	moved       uint32 // from there to their indexes in out
	left        int64  // how many bytes of blocks there may be
	lowest      int64  // where in body blocks may begin
}

// copy copies a set, which is well-formed but for its form and the blocks: of these it reports
// whether they are. e selects instances; nil selects all.
func (c *setCopier) copy(set []byte, e *InDomProfile) bool {
	out := c.out[c.at:]
	copy(out, set[:setHeadLen])
	if len(set) == setHeadLen {
		c.at += setHeadLen
		return true
	}
	form := binary.BigEndian.Uint32(set[setHeadLen:])
	if form > valSPtr {
		return false
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
				if !c.flush() {
					return false
				}
				c.first, c.next = index, index
				c.moved = uint32(len(c.out)+HeaderLen)/4 - index
				out = c.out[c.at:]
			}
			at := int64(index)*4 - HeaderLen
			if at < c.lowest || at > int64(len(c.body)-blockHeadLen) {
				return false
			}
			n := binary.BigEndian.Uint32(c.body[at:]) & maxBlockLen
			if n < blockHeadLen {
				return false
			}
			c.next += (n + 3) / 4
			value = value&^0xffffffff | uint64(index+c.moved)
		}
		binary.BigEndian.PutUint64(out[d:], value)
		d += valueLen
	}
	if d == setHeadLen+4 { // none is selected
		binary.BigEndian.PutUint32(out[4:], 0)
		d = setHeadLen
	} else {
		binary.BigEndian.PutUint32(out[4:], uint32((d-setHeadLen-4)/valueLen))
		binary.BigEndian.PutUint32(out[setHeadLen:], form)
	}
	c.at += d
	return true
}

// flush copies the blocks. It is false if they reach beyond the body, or are too many.
func (c *setCopier) flush() bool {
	from, to := int64(c.first)*4-HeaderLen, int64(c.next)*4-HeaderLen
	if from == to {
		return true
	}
	c.left -= to - from
	if to > int64(len(c.body)) || c.left < 0 {
		return false
	}
	c.out = append(c.out, c.body[from:to]...)
	return true
}
