package push

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/archive"
)

// A queue holds the part of an archive that the receiver has not confirmed, and all metadata in
// case the receiver loses the archive.
type queue struct {
	version int
	label   []byte
	size    int64 // unconfirmed bytes

	meta     []byte // all metadata, or what is left of it if lost is set
	metaSent int    // confirmed bytes of meta
	index    []byte
	volumes  []queued // by number; the receiver has nothing of those after the first that has data
	lost     bool     // meta is no longer all

	// Ends of the receiver's files.
	metaEnd, indexEnd int64
	shift             int64 // how much lower offsets are there, in the first volume of this archive
	shifted           int   // the number of that volume
	entryless         bool  // the index there has no entry for the first record
}

// A queued is the unconfirmed part of a volume.
type queued struct {
	number int
	data   []byte
	off    int64 // offset of data in the volume
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
	skip   int   // bytes of the queue that it stands for
}

// A round holds how much of each file to send before any later records: first the metadata, then
// the data that need it, then the index that refers to both.
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

// next returns the next piece of a round: one record, or as many as fit into limit bytes. It
// returns ok false at the end.
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

// cut limits p to as many whole records as fit into limit bytes, but at least one, in a new slice.
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

// enterFirst adds an index entry for the first record of an archive, if it is missing. C's tools
// reject an archive without it.
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

// readEntry returns the volume and the offset of an index entry.
func readEntry(e []byte, time int, wide bool) (volume int, off int64) {
	volume = int(int32(binary.BigEndian.Uint32(e[time:])))
	if wide {
		return volume, int64(binary.BigEndian.Uint64(e[time+12:]))
	}
	return volume, int64(int32(binary.BigEndian.Uint32(e[time+8:])))
}

// remote returns the offset in the receiver's volume for an offset in the local one.
func (q *queue) remote(volume int, off int64) int64 {
	if volume == q.shifted {
		return off - q.shift
	}
	return off
}

// translate converts index entries to offsets in the receiver's files. It drops entries for records
// that the receiver lacks.
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

// trim drops completely confirmed volumes, except the last one.
func (q *queue) trim() {
	for len(q.volumes) > 1 && len(q.volumes[0].data) == 0 {
		q.volumes = q.volumes[1:]
	}
}

// again prepares the queue for another archive, which begins with the first unconfirmed data. It
// returns false if the metadata is no longer complete.
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

// dataRecords counts the unconfirmed data records.
func (q *queue) dataRecords() (n int) {
	for _, v := range q.volumes {
		_, records, _ := newFraming(q.version, v.number).whole(v.data)
		n += records
	}
	return n
}
