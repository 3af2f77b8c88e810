package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// appendPadded adds a string and the padding that fills its last word.
func appendPadded(b []byte, s string) []byte {
	b = append(b, s...)
	return append(b, "~~~"[:wire.Pad4(len(s))-len(s)]...)
}

// appendString adds a length and a padded string.
func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return appendPadded(b, s)
}

// readTail reads a length and the bytes of the string that ends a PDU; 6.0.3 lets
// the last padding be missing.
func readTail(c *wire.Cursor, field string) []byte {
	n := int(c.Int32(field))
	if c.Left() == n {
		return c.Bytes(n, field)
	}
	return c.Padded(n, field)
}

// copied returns b as a new string.
func copied(b []byte) string { return string(b) }
