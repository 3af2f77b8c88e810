package logextract

import (
	"bytes"
	"encoding/binary"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A valueSet is one of those of a data record.
type valueSet struct {
	metric *metric
	at     int // where it is in the record
	n      int // the number of values, or an error
}

// pickFrom leaves of the pending record of an input what the output gets, and notes its value sets. It reports whether there is anything.
func (m *merger) pickFrom(in *input) (kept bool, err error) {
	r := &in.rec
	if r.Kind != archive.KindResult {
		return true, nil
	}
	in.sets = in.sets[:0]
	all, canonical, err := m.scan(in)
	if err != nil {
		return false, err
	}
	if len(in.sets) == 0 {
		return false, nil
	}
	if !all || !canonical {
		m.repack(in)
	}
	return true, nil
}

// scan finds the value sets that the output gets. all says that these are all there are, and canonical that the record is as the output
// has it: value blocks follow each other in the order of the values, and are padded with tildes.
func (m *merger) scan(in *input) (all, canonical bool, err error) {
	raw := in.rec.Raw
	all, canonical, ok := m.scanSets(in, raw)
	if ok && canonical {
		return all, true, nil
	}
	if _, err := in.cur.Result(); err != nil {
		return false, false, err
	}
	in.sets = in.sets[:0]
	all, _, _ = m.scanSets(in, raw)
	return all, false, nil
}

// scanSets is scan of a record that may be malformed; then ok is false.
func (m *merger) scanSets(in *input, raw []byte) (all, canonical, ok bool) {
	end := len(raw) - 4
	at := in.sets0()
	count := int(binary.BigEndian.Uint32(raw[at-4:]))
	all, canonical = true, true
	last := &m.meta.head
	firstBlock := -1 // of the first value that has one
	block := 0       // where the next one should be
	for range count {
		if at+8 > end {
			return all, false, false
		}
		id, n := pdu.PMID(binary.BigEndian.Uint32(raw[at:])), int(int32(binary.BigEndian.Uint32(raw[at+4:])))
		set := valueSet{at: at, n: n}
		if last.next == nil || last.next.id != id {
			last.next = m.meta.metric(id)
		}
		last = last.next
		set.metric = last
		at += 8
		if n > 0 {
			if n > (end-at-4)/8 {
				return all, false, false
			}
			if format := binary.BigEndian.Uint32(raw[at:]); format != 0 {
				if format > 2 {
					return all, false, false
				}
				for v := at + 8; v < at+4+8*n; v += 8 {
					off := 4 * (int(binary.BigEndian.Uint32(raw[v:])) - 2)
					if firstBlock < 0 {
						firstBlock, block = off, off
					}
					if off != block || off < at || off+4 > end {
						canonical = false
						continue
					}
					length := int(binary.BigEndian.Uint32(raw[off:]) & 0xffffff)
					block = off + (length+3)&^3
					if length < 4 || block > end {
						return all, false, false
					}
					if length&3 != 0 && !tildes(raw[off+length:block]) {
						canonical = false
					}
				}
			}
			at += 4 + 8*n
		}
		if last.dropped {
			all = false
			continue
		}
		all = all && last.instances == nil
		in.sets = append(in.sets, set)
	}
	if firstBlock < 0 {
		return all, canonical && at == end, at == end
	}
	return all, canonical && firstBlock == at && block == end, true
}

func tildes(b []byte) bool {
	for _, c := range b {
		if c != '~' {
			return false
		}
	}
	return true
}

// sets0 is where the first value set of the pending record is.
func (in *input) sets0() int {
	if in.label.Version == 2 {
		return 16
	}
	return 20
}

// repack makes a record of the value sets that the output gets, in a buffer of the input.
func (m *merger) repack(in *input) {
	raw := in.rec.Raw
	head := in.sets0()
	b := append(in.buf[:0], raw[:head]...)
	binary.BigEndian.PutUint32(b[head-4:], uint32(len(in.sets)))
	m.buf = m.buf[:0] // of the blocks
	in.pointers = in.pointers[:0]
	for i := range in.sets {
		b = m.repackSet(in, b, raw, &in.sets[i])
	}
	for _, at := range in.pointers {
		off := binary.BigEndian.Uint32(b[at:])
		binary.BigEndian.PutUint32(b[at:], off/4+uint32(len(b)/4)+2)
	}
	b = append(b, m.buf...)
	n := uint32(len(b) + 4)
	binary.BigEndian.PutUint32(b, n)
	in.buf = binary.BigEndian.AppendUint32(b, n)
	in.rec.Raw = in.buf
}

// repackSet adds a value set to b, and its blocks to m.buf.
func (m *merger) repackSet(in *input, b, raw []byte, s *valueSet) []byte {
	start := len(b)
	b = append(b, raw[s.at:s.at+8]...)
	if s.n <= 0 {
		return b
	}
	values := raw[s.at+12 : s.at+12+8*s.n]
	format := raw[s.at+8 : s.at+12]
	b = append(b, format...)
	blocks := !bytes.Equal(format, inSitu[:])
	n := 0
	add := func(v []byte) {
		n++
		b = append(b, v[:8]...)
		if !blocks {
			return
		}
		at := len(b) - 4
		off := 4 * (int(binary.BigEndian.Uint32(v[4:])) - 2)
		length := int(binary.BigEndian.Uint32(raw[off:]) & 0xffffff)
		binary.BigEndian.PutUint32(b[at:], uint32(len(m.buf)))
		in.pointers = append(in.pointers, at)
		m.buf = append(m.buf, raw[off:off+length]...)
		m.buf = append(m.buf, "~~~"[:-length&3]...)
	}
	if s.metric.instances == nil {
		for v := 0; v < len(values); v += 8 {
			add(values[v:])
		}
		return b
	}
	for _, inst := range s.metric.instances {
		for v := 0; v < len(values); v += 8 {
			if pdu.InstID(binary.BigEndian.Uint32(values[v:])) == inst {
				add(values[v:])
				break
			}
		}
	}
	s.n = n
	binary.BigEndian.PutUint32(b[start+4:], uint32(n))
	if n == 0 {
		return b[:start+8]
	}
	return b
}

var inSitu [4]byte
