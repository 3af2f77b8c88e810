package pdu

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// AppendFormat adds the body in the format f to b. The last HeaderLen bytes of b are the place of
// the header. Unlike Append it does not refuse a result with malformed blocks: their sets become
// ErrIPC. It copies a result whose blocks lie in the order of the values, as those of all writers
// do, and changes only the indexes of the blocks. The error is ErrTooBig if the body does not fit a
// PDU or the time does not fit the format.
func (r *Result) AppendFormat(b []byte, f Format) ([]byte, error) {
	if len(r.sets) == 0 {
		return (&ResultWriter{Time: r.Time}).Append(b, f)
	}
	start := int(r.sets[0])
	sec, nsec := int64(0), int64(0)
	if !r.Time.IsZero() {
		sec, nsec = r.Time.Unix(), int64(r.Time.Nanosecond())
	}
	out, err := appendPrefix(slices.Grow(b, f.prefix()+len(r.buf)-start), f, r.Len(), sec, nsec)
	if err != nil {
		return b, err
	}
	at := len(out)
	out = append(out, r.buf[start:]...)
	if r.moveBlocks(out[at:], uint32(int32(f.prefix()-r.Format.prefix())/4)) {
		return out, nil
	}
	w := ResultWriter{Time: r.Time}
	for _, s := range r.All() {
		w.Copy(s)
	}
	return w.Append(b, f)
}

// moveBlocks adds delta to the indexes of blocks in a copy of the sets and blocks. ok is false, and
// the copy of no use, unless the blocks lie in the order of the values and fill the body.
func (r *Result) moveBlocks(out []byte, delta uint32) (ok bool) {
	start, end := r.sets[0], r.sets[r.Len()]
	first := uint32(end+HeaderLen) / 4
	next := first
	for start < end {
		set := r.buf[start:end]
		n := int32(binary.BigEndian.Uint32(set[4:]))
		if n <= 0 {
			start += setHeadLen
			continue
		}
		size := int32(setHeadLen + 4 + int(n)*valueLen)
		if binary.BigEndian.Uint32(set[setHeadLen:]) != valInsitu {
			values := set[setHeadLen+4 : size]
			if next, ok = follow(r.buf, values, next); !ok {
				return false
			}
			at := int(start-r.sets[0]) + setHeadLen + 4
			moved := wire.Octets(out[at : at+len(values)])
			for i := range moved {
				index := moved[i][4:]
				binary.BigEndian.PutUint32(index, binary.BigEndian.Uint32(index)+delta)
			}
		}
		start += size
	}
	return int64(next)*4-HeaderLen == int64(len(r.buf)) && uint32(end)%4 == 0
}
