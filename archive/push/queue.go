package push

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/archive"
)

// A queue has the part of an archive that a receiver has not got, and all metadata in case the
// receiver loses the archive.
type queue struct {
	version int
	label   []byte
	size    int64 // bytes that the receiver has not got

	meta     []byte // all, or what is left of it if there was too much
	metaSent int    // bytes of meta that the receiver has got
	index    []byte
	volumes  []queued // by number; the receiver has nothing of those after the first that has data
	lost     bool     // meta is no longer all

	// Where files end at the receiver.
	metaEnd, indexEnd int64
	shift             int64 // how much lower offsets are there, in the first volume of this archive
	shifted           int   // the number of that volume
	entryless         bool  // the index there has no entry for the first record
}

// A queued is the part of a volume that the receiver has not got.
type queued struct {
	number int
	data   []byte
	off    int64 // where data is in the volume
}

func (q *queue) init(version int, label []byte) {
	q.version, q.label = version, label
	q.metaEnd, q.indexEnd = int64(len(label)), int64(len(label))
}

// begin begins a volume.
func (q *queue) begin(number int) {
	q.volumes = append(q.volumes, queued{number: number, off: int64(len(q.label))})
}

// add adds records to a file.
func (q *queue) add(volume int, records []byte) error {
	for b := records; len(b) > 0; {
		n, err := newFraming(q.version, volume).next(b)
		if err != nil || n == 0 || n > len(b) {
			return fmt.Errorf("a record that cannot be sent: %w", err)
		}
		b = b[n:]
	}
	switch volume {
	case archive.VolumeMeta:
		q.meta = append(q.meta, records...)
	case archive.VolumeIndex:
		q.index = append(q.index, records...)
	default:
		v := &q.volumes[len(q.volumes)-1]
		v.data = append(v.data, records...)
	}
	q.size += int64(len(records))
	return nil
}

// A piece is the content of one request.
type piece struct {
	volume int
	b      []byte
	offset int64 // of b in the receiver's file
	skip   int   // bytes of the queue that go with it
}

// A round says how much of each file is sent before any later records: the metadata first, then the
// data that need it, then the index that refers to both.
type round struct {
	meta, index int
	data        []int // by volume
}

// begins returns a round of all queued bytes.
func (q *queue) begins() round {
	if q.entryless && len(q.volumes) > 0 && len(q.volumes[0].data) > 0 {
		q.enterFirst(&q.volumes[0])
		q.entryless = false
	}
	r := round{meta: len(q.meta) - q.metaSent, index: len(q.index)}
	for _, v := range q.volumes {
		r.data = append(r.data, len(v.data))
	}
	return r
}

// next returns the next piece of a round: one record, or as many as fit into limit bytes. ok is
// false at the end.
func (q *queue) next(r *round, limit int) (p piece, ok bool) {
	if r.meta > 0 {
		p = piece{volume: archive.VolumeMeta, offset: q.metaEnd, b: q.meta[q.metaSent : q.metaSent+r.meta]}
		return q.cut(p, limit), true
	}
	for i := range r.data {
		if v := &q.volumes[i]; r.data[i] > 0 {
			p = piece{volume: v.number, offset: q.remote(v.number, v.off), b: v.data[:r.data[i]]}
			return q.cut(p, limit), true
		}
	}
	if r.index > 0 {
		p = q.cut(piece{volume: archive.VolumeIndex, offset: q.indexEnd, b: q.index[:r.index]}, limit)
		p.b = q.translate(p.b)
		return p, true
	}
	return p, false
}

// cut leaves as many whole records as limit has bytes for, but at least one, in a new slice.
func (q *queue) cut(p piece, limit int) piece {
	f := newFraming(q.version, p.volume)
	end := 0
	for end < len(p.b) {
		n, _ := f.next(p.b[end:]) // add has checked it
		if end > 0 && end+n > limit {
			break
		}
		end += n
	}
	p.skip, p.b = end, slices.Clone(p.b[:end])
	return p
}

// enterFirst makes the index begin with an entry for the first record of an archive. C's tools do
// not accept an archive without this entry.
func (q *queue) enterFirst(v *queued) {
	f := newFraming(q.version, archive.VolumeIndex)
	time, wide := f.times()
	for b := q.index; len(b) > 0; b = b[f.entry:] {
		if volume, off := readEntry(b, time, wide); volume == v.number && off == v.off {
			return
		}
	}
	e := slices.Clone(v.data[4 : 4+time])
	e = binary.BigEndian.AppendUint32(e, uint32(v.number))
	for _, off := range []int64{int64(len(q.label)), v.off} {
		if wide {
			e = binary.BigEndian.AppendUint64(e, uint64(off))
		} else {
			e = binary.BigEndian.AppendUint32(e, uint32(off))
		}
	}
	q.index = append(e, q.index...)
	q.size += int64(len(e))
}

// readEntry is where an entry of the index leads to in a volume.
func readEntry(e []byte, time int, wide bool) (volume int, off int64) {
	volume = int(int32(binary.BigEndian.Uint32(e[time:])))
	if wide {
		return volume, int64(binary.BigEndian.Uint64(e[time+12:]))
	}
	return volume, int64(int32(binary.BigEndian.Uint32(e[time+8:])))
}

// remote is an offset in the receiver's volume.
func (q *queue) remote(volume int, off int64) int64 {
	if volume == q.shifted {
		return off - q.shift
	}
	return off
}

// translate changes entries of the index to places in the files of the receiver. It leaves out
// entries for places that the receiver does not have.
func (q *queue) translate(entries []byte) []byte {
	if q.shift == 0 && q.shifted == 0 {
		return entries
	}
	f := newFraming(q.version, archive.VolumeIndex)
	time, wide := f.times()
	out := entries[:0]
	for ; len(entries) > 0; entries = entries[f.entry:] {
		e := entries[:f.entry]
		volume, off := readEntry(e, time, wide)
		off = q.remote(volume, off)
		if volume < q.shifted || off < int64(len(q.label)) {
			continue
		}
		if wide {
			binary.BigEndian.PutUint64(e[time+12:], uint64(off))
		} else {
			binary.BigEndian.PutUint32(e[time+8:], uint32(off))
		}
		out = append(out, e...)
	}
	return out
}

// sent removes a piece from the queue and the round, after the receiver has confirmed it.
func (q *queue) sent(r *round, p piece) {
	q.size -= int64(p.skip)
	switch p.volume {
	case archive.VolumeMeta:
		q.metaEnd += int64(len(p.b))
		r.meta -= p.skip
		if q.metaSent += p.skip; q.metaSent > maxKeptMeta {
			q.meta, q.metaSent, q.lost = slices.Clone(q.meta[q.metaSent:]), 0, true
		}
	case archive.VolumeIndex:
		q.indexEnd += int64(len(p.b))
		r.index -= p.skip
		q.index = rest(q.index, p.skip)
	default:
		i := slices.IndexFunc(q.volumes, func(v queued) bool { return v.number == p.volume })
		v := &q.volumes[i]
		v.data, v.off = rest(v.data, p.skip), v.off+int64(p.skip)
		r.data[i] -= p.skip
	}
}

// rest is b without its first n bytes, in the same memory. If none remain, b's memory is reused.
func rest(b []byte, n int) []byte {
	if n == len(b) {
		return b[:0]
	}
	return b[n:]
}

// trim forgets volumes that the receiver has completely, except the last one.
func (q *queue) trim() {
	for len(q.volumes) > 1 && len(q.volumes[0].data) == 0 {
		q.volumes = q.volumes[1:]
	}
}

// again makes the queue that of another archive, which begins with the first data that the receiver
// has not got. It returns false if the metadata is no longer kept.
func (q *queue) again() bool {
	if q.lost {
		return false
	}
	q.trim()
	q.size += int64(q.metaSent)
	q.metaSent, q.metaEnd, q.indexEnd = 0, int64(len(q.label)), int64(len(q.label))
	q.shift, q.shifted, q.entryless = 0, 0, true
	if len(q.volumes) > 0 {
		v := &q.volumes[0]
		q.shifted, q.shift = v.number, v.off-int64(len(q.label))
	}
	return true
}

// dataRecords counts the data records that the receiver has not got.
func (q *queue) dataRecords() (n int) {
	for _, v := range q.volumes {
		_, records, _ := newFraming(q.version, v.number).whole(v.data)
		n += records
	}
	return n
}
