package archive

import (
	"encoding/binary"
)

// entryLen returns the length of an entry of the index.
func entryLen(version int) int {
	if version == 2 {
		return 20
	}
	return 32
}

// decodeEntry decodes an entry of the index of entryLen bytes.
func decodeEntry(b []byte, version int) IndexEntry {
	e := IndexEntry{Time: timeAt(b, version), Volume: int(int32(binary.BigEndian.Uint32(b[timeLen(version):])))}
	b = b[timeLen(version)+4:]
	if version == 2 {
		e.Meta, e.Data = int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))
	} else {
		e.Meta, e.Data = int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
	}
	return e
}

// decodeIndex decodes the entries after the label of an index. It ignores an incomplete last entry,
// because a writer may not have finished it.
func decodeIndex(b []byte, version int) []IndexEntry {
	n := entryLen(version)
	entries := make([]IndexEntry, len(b)/n)
	for i := range entries {
		entries[i] = decodeEntry(b[i*n:], version)
	}
	return entries
}
