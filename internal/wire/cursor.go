// Package wire reads big-endian binary layouts. A Cursor checks every length,
// remembers the first error and returns zeroes from then on, so that a decoder
// reads ten fields in ten lines and checks for an error once.
package wire

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// An Error is a flaw in a layout: the wrong field, its offset, and the problem.
type Error struct {
	Field   string
	Offset  int
	Problem string
}

// Error is one line with all three.
func (e *Error) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", e.Field, e.Offset, e.Problem)
}

// A Cursor reads fields from the beginning of a byte slice to its end. The zero
// Cursor has no bytes. One goroutine at a time.
type Cursor struct {
	b    []byte
	off  int
	base int
	err  *Error
}

// New returns a cursor over b. base is added to the offsets in errors, for
// layouts whose offsets count from before b.
func New(b []byte, base int) Cursor { return Cursor{b: b, base: base} }

// Err returns the first failure, or nil.
func (c *Cursor) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Fail records an error about a field that starts back bytes before the present
// offset, unless there is an earlier error. Later reads return zeroes.
func (c *Cursor) Fail(field string, back int, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Field: field, Offset: c.base + c.off - back, Problem: fmt.Sprintf(format, args...)}
	}
}

// Left is the number of bytes not yet read, 0 after a failure.
func (c *Cursor) Left() int {
	if c.err != nil {
		return 0
	}
	return len(c.b) - c.off
}

// Offset is where the next field starts, counted with the base.
func (c *Cursor) Offset() int { return c.base + c.off }

// take reads n bytes. All reading goes through it, and so do all checks.
func (c *Cursor) take(n int, field string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 {
		c.Fail(field, 0, "negative length %d", n)
		return nil
	}
	if n > len(c.b)-c.off {
		c.Fail(field, 0, "needs %d bytes, %d left", n, len(c.b)-c.off)
		return nil
	}
	p := c.b[c.off : c.off+n : c.off+n]
	c.off += n
	return p
}

// Uint8 reads one byte.
func (c *Cursor) Uint8(field string) uint8 {
	if p := c.take(1, field); p != nil {
		return p[0]
	}
	return 0
}

// Uint16 reads two bytes.
func (c *Cursor) Uint16(field string) uint16 {
	if p := c.take(2, field); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

// Uint32 reads four bytes.
func (c *Cursor) Uint32(field string) uint32 {
	if p := c.take(4, field); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// Int32 reads four bytes, signed.
func (c *Cursor) Int32(field string) int32 { return int32(c.Uint32(field)) }

// Uint64 reads eight bytes.
func (c *Cursor) Uint64(field string) uint64 {
	if p := c.take(8, field); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// Int64 reads eight bytes, signed.
func (c *Cursor) Int64(field string) int64 { return int64(c.Uint64(field)) }

// Bytes reads n bytes, which alias the input. A negative n fails.
func (c *Cursor) Bytes(n int, field string) []byte { return c.take(n, field) }

// Padded reads n bytes and the padding that fills the last word. The padding's
// content is ignored.
func (c *Cursor) Padded(n int, field string) []byte {
	p := c.take(n, field)
	c.take(Pad4(n)-n, field)
	return p
}

// Skip skips n bytes.
func (c *Cursor) Skip(n int, field string) { c.take(n, field) }

// Count reads a 32-bit element count and checks it against the bytes left, so
// that it may size an allocation: each element takes at least minElem bytes.
func (c *Cursor) Count(minElem int, field string) int {
	n := c.Int32(field)
	if c.err != nil {
		return 0
	}
	if n < 0 {
		c.Fail(field, 4, "negative count %d", n)
		return 0
	}
	if int64(n)*int64(minElem) > int64(c.Left()) {
		c.Fail(field, 4, "%d elements of at least %d bytes in %d bytes", n, minElem, c.Left())
		return 0
	}
	return int(n)
}

// Done fails if bytes are left. It returns the first error, or nil.
func (c *Cursor) Done() error {
	if c.err == nil && c.off != len(c.b) {
		c.Fail("end", 0, "%d trailing bytes", len(c.b)-c.off)
	}
	return c.Err()
}

// Alias is a string of the bytes of b, without a copy: b must never change again.
func Alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Octets returns the bytes of b in groups of 8, without a copy. The length of b is a multiple of 8.
func Octets(b []byte) [][8]byte {
	return unsafe.Slice((*[8]byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// Pad4 rounds a length up to a whole word.
func Pad4(n int) int { return (n + 3) &^ 3 }
