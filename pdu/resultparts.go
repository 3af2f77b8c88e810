package pdu

import (
	"encoding/binary"
	"iter"
	"runtime"
	"time"
)

// A ResultPart is sets of a ResultWriter, from index From up to, but not including,
// To.
type ResultPart struct {
	Writer   *ResultWriter
	From, To int
}

// spans are where the sets begin and end in both buffers of the writer.
func (p ResultPart) spans() (a, z setSpan) {
	if p.From > 0 {
		a = p.Writer.ends[p.From-1]
	}
	return a, p.Writer.ends[p.To-1]
}

// measureParts returns the number of sets, and the bytes of all sets and of all blocks.
func measureParts(parts iter.Seq[ResultPart]) (n, sets, blocks int) {
	for part := range parts {
		part.Writer.close()
		a, z := part.spans()
		n += part.To - part.From
		sets += int(z.sets - a.sets)
		blocks += int(z.blocks - a.blocks)
	}
	return n, sets, blocks
}

// WriteParts sends the result of time t that several writers hold, after the queued PDUs. It copies
// no long part. parts are in the order of the result. No part is empty, and each set is in one part
// at most. WriteParts changes the writers, which can afterwards only be reset. After an error of
// the stream, the Conn cannot be used further.
func (c *Conn) WriteParts(from int32, t time.Time, f Format, parts iter.Seq[ResultPart]) error {
	kind := f.Kind()
	n, sets, blocks := measureParts(parts)
	size := f.prefix() + sets + blocks
	if size > MaxLen {
		return refuse(kind, ErrTooBig, "PDU exceeds 2 GiB")
	}
	sec, nsec := int64(0), int64(0)
	if !t.IsZero() {
		sec, nsec = t.Unix(), int64(t.Nanosecond())
	}
	if c.out == nil {
		c.out = buffers.Get().(*[]byte)
	}
	h := Header{Len: size, Kind: kind, From: from}
	b, err := appendPrefix(h.append(*c.out), f, n, sec, nsec)
	if err != nil {
		return err
	}
	*c.out = b
	c.count(h)
	if c.Trace != nil {
		c.Trace(true, h, nil)
	}
	base := uint32(f.prefix()+sets) / 4 // where the next blocks begin, in words
	for part := range parts {
		a, z := part.spans()
		part.rebase(a, base)
		base += (z.blocks - a.blocks) / 4
		if err := c.writePiece(part.Writer.sets[a.sets:z.sets]); err != nil {
			return err
		}
	}
	for part := range parts {
		a, z := part.spans()
		if err := c.writePiece(part.Writer.blocks[a.blocks:z.blocks]); err != nil {
			return err
		}
	}
	return c.Flush()
}

// rebase makes the block indexes of the sets those of blocks that begin at base.
func (p ResultPart) rebase(a setSpan, base uint32) {
	w := p.Writer
	delta := base - a.blocks/4 // below zero it wraps around, and back when it is added
	done := a.sets
	for _, e := range w.ends[p.From:p.To] {
		if e.blocks != a.blocks {
			rebase(w.sets[a.sets:e.sets], delta)
		}
		a = e
		if e.sets-done > writeLen {
			done = e.sets
			runtime.Gosched()
		}
	}
}

const (
	gatherLen = 64 << 10  // pieces are collected up to this length
	writeLen  = 256 << 10 // longer pieces are written in several calls, between which other goroutines may run
)

// writePiece sends a piece of a PDU, a short one together with others.
func (c *Conn) writePiece(b []byte) error {
	for len(b) > 0 {
		if c.out != nil && len(*c.out)+len(b) <= gatherLen {
			*c.out = append(*c.out, b...)
			return nil
		}
		if c.out != nil {
			if err := c.Flush(); err != nil {
				return err
			}
		}
		if len(b) < gatherLen/4 {
			c.out = buffers.Get().(*[]byte)
			continue
		}
		piece := b[:min(len(b), writeLen)]
		if _, err := c.rw.Write(piece); err != nil {
			return &OpError{Op: "write", Err: err}
		}
		b = b[len(piece):]
		runtime.Gosched()
	}
	return nil
}

// append adds a header to b.
func (h Header) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.Len))
	b = binary.BigEndian.AppendUint32(b, uint32(h.Kind))
	return binary.BigEndian.AppendUint32(b, uint32(h.From))
}
