package remotewrite

import (
	"encoding/binary"
	"math/bits"
)

// A compressor writes the block format of snappy, in blocks of 64 KiB. To find copies, it has a
// table of the latest place of each four bytes, indexed by their hash.
type compressor struct {
	table [1 << tableBits]uint16
}

const (
	tableBits = 14
	blockSize = 1 << 16

	// The two low bits of the tag that begins an element.
	tagLiteral = 0
	tagCopy1   = 1 // with an offset of 11 bits, and a length from 4 to 11
	tagCopy2   = 2 // with an offset of 16 bits, and a length from 1 to 64
)

// append appends src in compressed form.
func (c *compressor) append(b, src []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(src)))
	for len(src) > 0 {
		n := min(len(src), blockSize)
		b = c.appendBlock(b, src[:n])
		src = src[n:]
	}
	return b
}

func (c *compressor) appendBlock(b, src []byte) []byte {
	clear(c.table[:])
	begin := 0 // of the bytes that are not written yet
	for at := 0; at+4 <= len(src); {
		four := binary.LittleEndian.Uint32(src[at:])
		place := &c.table[four*0x9E3779B1>>(32-tableBits)]
		from := int(*place)
		*place = uint16(at)
		if from >= at || binary.LittleEndian.Uint32(src[from:]) != four {
			at += 1 + (at-begin)>>5 // take longer steps in bytes that do not compress
			continue
		}
		n := 4 + equal(src[from+4:], src[at+4:])
		b = appendLiteral(b, src[begin:at])
		b = appendCopy(b, at-from, n)
		at += n
		begin = at
	}
	return appendLiteral(b, src[begin:])
}

// equal returns the number of bytes that are equal at the beginnings of a and b. b is not longer
// than a.
func equal(a, b []byte) (n int) {
	for n+8 <= len(b) {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func appendLiteral(b, text []byte) []byte {
	n := len(text) - 1
	switch {
	case n < 0:
		return b
	case n < 60:
		b = append(b, byte(n)<<2|tagLiteral)
	case n < 1<<8:
		b = append(b, 60<<2|tagLiteral, byte(n))
	default: // two bytes suffice for the length of a block
		b = append(b, 61<<2|tagLiteral, byte(n), byte(n>>8))
	}
	return append(b, text...)
}

func appendCopy(b []byte, offset, n int) []byte {
	for n > 64 {
		b = append(b, 63<<2|tagCopy2, byte(offset), byte(offset>>8))
		n -= 64
	}
	if n >= 4 && n <= 11 && offset < 1<<11 {
		return append(b, byte(offset>>8)<<5|byte(n-4)<<2|tagCopy1, byte(offset))
	}
	return append(b, byte(n-1)<<2|tagCopy2, byte(offset), byte(offset>>8))
}
