package push

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/archive"
)

// Lengths of index entries.
const (
	entryLenV2 = 20
	entryLenV3 = 32
)

// A framing finds the ends of records in a file.
type framing struct {
	entry int // bytes of an index entry; 0 means records with their length at both ends
	least int // bytes of the shortest record
	meta  bool
}

func newFraming(version, volume int) framing {
	time := 12
	if version == 2 {
		time = 8
	}
	switch {
	case volume == archive.VolumeIndex && version == 2:
		return framing{entry: entryLenV2}
	case volume == archive.VolumeIndex:
		return framing{entry: entryLenV3}
	case volume == archive.VolumeMeta:
		return framing{least: 12, meta: true}
	}
	return framing{least: 8 + time + 4}
}

// times returns the length of the time in an index entry, and whether its offsets have 64 bits.
func (f framing) times() (n int, wide bool) {
	if f.entry == entryLenV2 {
		return 8, false
	}
	return 12, true
}

// leastMeta lists the lengths of the shortest metadata records, by type. The second number of a sum
// is the length of the time.
var leastMeta = [...]int{
	1: 12,      // descriptor
	2: 12 + 8,  // instances, version 2
	3: 12 + 8,  // labels, version 2
	4: 12,      // text
	5: 12 + 12, // instances
	6: 12 + 12, // changed instances
	7: 12 + 12, // labels
}

// next returns the length of the record at the start of b, or 0 if b is too short to tell.
func (f framing) next(b []byte) (int, error) {
	if f.entry > 0 {
		return f.entry, nil
	}
	if len(b) < 4 {
		return 0, nil
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < f.least || n >= maxRecord {
		return 0, badRequest("record of %d bytes", n)
	}
	if f.meta && len(b) >= 8 {
		typ := int32(binary.BigEndian.Uint32(b[4:]))
		if typ < 1 || int(typ) >= len(leastMeta) {
			return 0, badRequest("metadata record of type %d", typ)
		}
		if n < leastMeta[typ] {
			return 0, badRequest("metadata record of type %d and %d bytes", typ, n)
		}
	}
	return n, nil
}

// check checks a whole record.
func (f framing) check(rec []byte) error {
	if f.entry > 0 {
		return nil
	}
	return checkTail(rec[len(rec)-4:], len(rec))
}

// checkTail checks the length field at the end of a record.
func checkTail(tail []byte, n int) error {
	if got := binary.BigEndian.Uint32(tail); got != uint32(n) {
		return badRequest("record of %d bytes ends with the length %d", n, got)
	}
	return nil
}

// whole returns how many bytes at the start of b are whole records, and how many records these are.
// It returns an error if the next record is invalid.
func (f framing) whole(b []byte) (end, records int, err error) {
	for {
		n, err := f.next(b[end:])
		if err != nil || n == 0 || n > len(b)-end {
			return end, records, err
		}
		if err := f.check(b[end : end+n]); err != nil {
			return end, records, err
		}
		end += n
		records++
	}
}
