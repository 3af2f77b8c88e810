package logextract

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A valueSet is a value set of a data record.
type valueSet struct {
	metric *metric
	at     int // where it is in the record
	n      int // the number of values, or an error
}

// A shape is what consecutive data records of the same metrics and instances have in common. It
// saves scanning the next such record.
type shape struct {
	head   []byte // the value sets
	size   int    // of the record
	sets   []valueSet
	all    bool // sets has all value sets of the record
	blocks []block
	packed int // number of bytes of input.buf before the blocks, if blocks can be copied unchanged; else 0
}

// A block is a value block of a shape.
type block struct {
	at   int
	head uint32 // type and length
}

// pickFrom reduces the pending record of an input to what the output gets. It reports whether
// anything is left.
func (m *merger) pickFrom(in *input) (kept bool, err error) {
	r := &in.rec
	if r.Kind != archive.KindResult {
		return true, nil
	}
	s := &in.shape
	canonical := s.fits(r.Raw, in.sets0())
	if !canonical {
		if canonical, err = m.scan(in); err != nil {
			return false, err
		}
	}
	if len(s.sets) == 0 {
		return false, nil
	}
	if !s.all || !canonical || in.label.Version != m.label.Version {
		m.repack(in, canonical)
	}
	return true, nil
}

// fits reports whether a record has the shape s, and so is canonical.
func (s *shape) fits(raw []byte, start int) bool {
	if len(raw) != s.size || !bytes.Equal(raw[start-4:start-4+len(s.head)], s.head) {
		return false
	}
	for _, b := range s.blocks {
		head := binary.BigEndian.Uint32(raw[b.at:])
		if head != b.head || head&3 != 0 && !padded(raw[b.at:], int(head&0xffffff)) {
			return false
		}
	}
	return true
}

// padded reports whether a block is padded with tildes to a multiple of four bytes.
func padded(b []byte, length int) bool {
	for ; length&3 != 0; length++ {
		if b[length] != '~' {
			return false
		}
	}
	return true
}

// scan finds the shape of the pending record of an input. canonical reports whether value blocks
// follow each other in the order of the values and are padded with tildes, as in the output.
func (m *merger) scan(in *input) (canonical bool, err error) {
	in.shape.packed = 0
	raw, start := in.rec.Raw, in.sets0()
	end, canonical, ok := m.scanSets(in, raw, start)
	if canonical = ok && canonical; canonical {
		in.shape.head = append(in.shape.head[:0], raw[start-4:end]...)
		in.shape.size = len(raw)
	} else {
		in.shape.size = 0 // so that it fits no other record
		if _, err := in.cur.Result(); err != nil {
			return false, err
		}
	}
	for _, mt := range m.missing { // reported only now, since the record is not malformed
		if mt.missing {
			mt.missing = false
			m.warn(fmt.Errorf("archive %s: no descriptor of metric %v, its values are left out", in.name, mt.id))
		}
	}
	return canonical, nil
}

// scanSets finds the value sets that the output gets, and the end of the record's value sets. ok is
// false if the record is malformed.
func (m *merger) scanSets(in *input, raw []byte, at int) (_ int, canonical, ok bool) {
	s := &in.shape
	s.sets, s.blocks, s.all = s.sets[:0], s.blocks[:0], true
	end := len(raw) - 4
	last := &m.meta.head
	canonical = true
	m.missing = m.missing[:0]
	for range binary.BigEndian.Uint32(raw[at-4:]) {
		if at+8 > end {
			return at, false, false
		}
		id, n := pdu.PMID(binary.BigEndian.Uint32(raw[at:])), int(int32(binary.BigEndian.Uint32(raw[at+4:])))
		if last.next == nil || last.next.id != id {
			last.next = m.meta.metric(id)
		}
		last = last.next
		if last.dropped {
			s.all = false
			if last.missing {
				m.missing = append(m.missing, last)
			}
		} else {
			s.all = s.all && last.instances == nil
			s.sets = append(s.sets, valueSet{metric: last, at: at, n: n})
		}
		at += 8
		if n <= 0 {
			continue
		}
		if n > (end-at-4)/8 {
			return at, false, false
		}
		if format := binary.BigEndian.Uint32(raw[at:]); format != 0 {
			canonical = format <= 2 && s.addBlocks(raw, at+8, n) && canonical
		}
		at += 4 + 8*n
	}
	return at, canonical && s.endsAt(raw, at, end), at <= end
}

// addBlocks adds the blocks of n values. The word at offset at says where the first block is. The
// result is false if a block is malformed or does not directly follow the previous one.
func (s *shape) addBlocks(raw []byte, at, n int) bool {
	end := len(raw) - 4
	for range n {
		off := 4 * (int(binary.BigEndian.Uint32(raw[at:])) - 2)
		if k := len(s.blocks); off < at || off+4 > end || k > 0 && off != s.blocks[k-1].end() {
			return false
		}
		b := block{off, binary.BigEndian.Uint32(raw[off:])}
		if b.head&0xffffff < 4 || b.end() > end || b.head&3 != 0 && !padded(raw[off:], int(b.head&0xffffff)) {
			return false
		}
		s.blocks = append(s.blocks, b)
		at += 8
	}
	return true
}

// end returns the offset of the next block.
func (b block) end() int { return b.at + int(b.head&0xffffff+3)&^3 }

// endsAt reports whether the value sets end where the blocks begin, and the blocks end at the end
// of the record.
func (s *shape) endsAt(raw []byte, sets, end int) bool {
	if len(s.blocks) == 0 {
		return sets == end
	}
	return s.blocks[0].at == sets && s.blocks[len(s.blocks)-1].end() == end
}

// sets0 returns the offset of the first value set in the pending record.
func (in *input) sets0() int {
	if in.label.Version == 2 {
		return 16
	}
	return 20
}

// repack rewrites the pending record with the value sets that the output gets, in the layout of its
// version, into in.buf.
func (m *merger) repack(in *input, canonical bool) {
	raw, start := in.rec.Raw, in.sets0()
	if n := in.shape.packed; n > 0 {
		in.appendTime(in.buf[:4])
		copy(in.buf[n:], raw[start-4+len(in.shape.head):len(raw)-4])
		in.rec.Raw = in.buf
		return
	}
	b := append(in.buf[:0], raw[:start-4]...)
	if in.label.Version != m.label.Version {
		b = in.appendTime(b[:4])
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(in.shape.sets)))
	m.blocks, m.pointers = m.blocks[:0], m.pointers[:0]
	for i := range in.shape.sets {
		s := &in.shape.sets[i]
		switch {
		case s.n <= 0:
			b = append(b, raw[s.at:s.at+8]...)
		case canonical && s.metric.instances == nil:
			b = m.copySet(b, raw, s)
		default:
			b = m.selectValues(b, raw, s)
		}
	}
	first := uint32(len(b)/4 + 2) // blocks are counted in words, from 2
	for _, at := range m.pointers {
		binary.BigEndian.PutUint32(b[at:], binary.BigEndian.Uint32(b[at:])/4+first)
	}
	if canonical && in.shape.all {
		in.shape.packed = len(b)
	}
	b = append(b, m.blocks...)
	n := uint32(len(b) + 4)
	binary.BigEndian.PutUint32(b, n)
	in.buf = binary.BigEndian.AppendUint32(b, n)
	in.rec.Raw = in.buf
}

// appendTime appends the time of the pending record in the layout of version 3, since only that is
// ever converted to.
func (in *input) appendTime(b []byte) []byte {
	sec := in.time.Unix()
	b = binary.BigEndian.AppendUint32(b, uint32(sec))
	b = binary.BigEndian.AppendUint32(b, uint32(sec>>32))
	return binary.BigEndian.AppendUint32(b, uint32(in.time.Nanosecond()))
}

// blockAt returns the offset of a value's block in the record.
func blockAt(value []byte) int { return 4 * (int(binary.BigEndian.Uint32(value[4:])) - 2) }

// copySet appends a value set to b, and its blocks, which follow each other, to m.blocks.
func (m *merger) copySet(b, raw []byte, s *valueSet) []byte {
	from, to := s.at+12, s.at+12+8*s.n
	at := len(b) + 12
	b = append(b, raw[s.at:to]...)
	if bytes.Equal(raw[s.at+8:from], inSitu[:]) {
		return b
	}
	first, last := blockAt(raw[from:]), blockAt(raw[to-8:])
	end := block{last, binary.BigEndian.Uint32(raw[last:])}.end()
	shift := len(m.blocks) - first
	m.blocks = append(m.blocks, raw[first:end]...)
	for ; at < len(b); at += 8 {
		binary.BigEndian.PutUint32(b[at+4:], uint32(blockAt(b[at:])+shift))
		m.pointers = append(m.pointers, at+4)
	}
	return b
}

// selectValues appends the selected values of a set to b, in the order of the selection, and their
// blocks to m.blocks.
func (m *merger) selectValues(b, raw []byte, s *valueSet) []byte {
	start := len(b)
	b = append(b, raw[s.at:s.at+12]...)
	values := raw[s.at+12 : s.at+12+8*s.n]
	direct := bytes.Equal(raw[s.at+8:s.at+12], inSitu[:])
	n := uint32(0)
	add := func(v []byte) {
		n++
		b = append(b, v[:8]...)
		if direct {
			return
		}
		off := blockAt(v)
		length := int(binary.BigEndian.Uint32(raw[off:]) & 0xffffff)
		binary.BigEndian.PutUint32(b[len(b)-4:], uint32(len(m.blocks)))
		m.pointers = append(m.pointers, len(b)-4)
		m.blocks = append(m.blocks, raw[off:off+length]...)
		m.blocks = append(m.blocks, "~~~"[:-length&3]...)
	}
	if s.metric.instances == nil {
		for v := 0; v < len(values); v += 8 {
			add(values[v:])
		}
	}
	for _, inst := range s.metric.instances {
		for v := 0; v < len(values); v += 8 {
			if pdu.InstID(binary.BigEndian.Uint32(values[v:])) == inst {
				add(values[v:])
				break
			}
		}
	}
	binary.BigEndian.PutUint32(b[start+4:], n)
	if n == 0 {
		return b[:start+8]
	}
	return b
}

var inSitu [4]byte
