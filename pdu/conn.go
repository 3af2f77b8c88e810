package pdu

import (
	"encoding/binary"
	"io"
	"math"
	"sync"

	"github.com/pcp-go/pcp/internal/timeout"
)

const (
	// MaxLen is the greatest length of a PDU with its header that PCP sends.
	MaxLen = math.MaxInt32 - 1024

	inlineLen = 512     // PDUs up to this length need no buffer to be read
	growLen   = 1 << 16 // the most that is allocated for a PDU before its bytes arrive
	keepLen   = 1 << 20 // larger buffers are not kept for the next PDU
)

// A Conn reads and writes PDUs over a stream. It holds no buffer while it waits
// for the next PDU, so that an idle connection costs little; see Eager.
//
// One goroutine at a time may read, and one at the same time may write. The
// exported fields are set before the first use. Deadlines are set on the stream,
// which its owner closes.
type Conn struct {
	// MaxLen is the greatest length of a PDU that Read accepts; 0 means the
	// constant MaxLen. A longer one is ErrTooBig, after which the stream cannot be
	// used: the PDU is still in it.
	MaxLen int
	// Eager makes Read get a buffer for a PDU as long as the last one before it
	// waits, so that one read of the stream gets the PDU whole. Set it on
	// connections that read only after sending a request.
	Eager bool
	// Counters, if not nil, count the PDUs that are read and written.
	Counters *Counters
	// Trace, if not nil, is called with every PDU that has been read or, with out,
	// is going to be written. It must not keep or change body.
	Trace func(out bool, h Header, body []byte)
	// Partial, if not nil, is called by Read: with true when a part of a PDU has
	// arrived and Read waits for the rest, with false when that wait is over. The
	// owner can set a deadline for the wait.
	Partial func(waiting bool)

	rw    io.ReadWriter
	r, n  int     // unread bytes are in()[r:n]
	big   *[]byte // what is read into instead of small, in its whole capacity
	last  int     // length of the last PDU
	out   *[]byte // PDUs not flushed
	small [inlineLen]byte
}

// NewConn returns a Conn that reads and writes PDUs over rw.
func NewConn(rw io.ReadWriter) *Conn { return &Conn{rw: rw} }

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func putBuffer(b *[]byte) {
	if cap(*b) <= keepLen {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// Read reads the next PDU and waits for it if need be. The body is valid until
// Read is called again.
//
// At the end of the stream between PDUs the error is io.EOF. After a deadline of
// the stream has passed, Read may be called again and continues where it was.
// Any other error means that the stream cannot be used further:
// io.ErrUnexpectedEOF within a PDU, ErrIPC for a length or kind that cannot be,
// ErrTooBig above MaxLen (with the Header), or what the stream reported.
func (c *Conn) Read() (Header, []byte, error) {
	c.discardRead()
	waited := false
	h, body, err := c.read(&waited)
	if waited && c.Partial != nil {
		c.Partial(false)
	}
	if err != nil {
		if err != io.EOF {
			err = &OpError{Op: "read", Kind: h.Kind, Err: err}
		}
		return h, nil, err
	}
	if c.Counters != nil && h.Kind >= kindFirst && h.Kind <= kindLast {
		c.Counters.in[h.Kind-kindFirst].Add(1)
	}
	if c.Trace != nil {
		c.Trace(false, h, body)
	}
	return h, body, nil
}

func (c *Conn) read(waited *bool) (Header, []byte, error) {
	for c.n-c.r < HeaderLen {
		if err := c.fill(HeaderLen, waited); err != nil {
			return Header{}, nil, err
		}
	}
	p := c.in()[c.r:]
	h := Header{
		Len:  int(int32(binary.BigEndian.Uint32(p))),
		Kind: Kind(binary.BigEndian.Uint32(p[4:])),
		From: int32(binary.BigEndian.Uint32(p[8:])),
	}
	limit := c.MaxLen
	if limit == 0 {
		limit = MaxLen
	}
	switch {
	case h.Len < HeaderLen:
		return h, nil, problem{ErrIPC, "length below that of a header"}
	case h.Kind < 0:
		return h, nil, problem{ErrIPC, "negative type"}
	case h.Len > limit:
		return h, nil, ErrTooBig
	}
	for c.n-c.r < h.Len {
		if err := c.fill(h.Len, waited); err != nil {
			return h, nil, err
		}
	}
	body := c.in()[c.r+HeaderLen : c.r+h.Len : c.r+h.Len]
	c.r += h.Len
	c.last = h.Len
	return h, body, nil
}

// in is the buffer that is read into.
func (c *Conn) in() []byte {
	if c.big != nil {
		return *c.big
	}
	return c.small[:]
}

// discardRead drops the PDU that has been read, and gives back the large buffer
// if the unread rest fits the small one.
func (c *Conn) discardRead() {
	if c.big != nil && c.n-c.r <= inlineLen {
		c.n = copy(c.small[:], (*c.big)[c.r:c.n])
		c.r = 0
		putBuffer(c.big)
		c.big = nil
	}
	if c.r == c.n {
		c.r, c.n = 0, 0
	}
}

// fill reads more of a PDU of which at least need bytes are to come.
func (c *Conn) fill(need int, waited *bool) error {
	if c.n > c.r {
		c.notePartial(waited)
	} else if c.Eager && c.last > inlineLen {
		need = max(need, min(c.last+inlineLen, keepLen)) // and a small one before it
	}
	c.makeRoom(need)
	n, err := io.ReadAtLeast(c.rw, c.in()[c.n:], 1)
	c.n += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && c.n > c.r {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// makeRoom makes room for a PDU, in a buffer that grows as bytes arrive.
func (c *Conn) makeRoom(need int) {
	in := c.in()
	if c.r+need <= len(in) {
		return
	}
	if need > len(in) && (c.big == nil || c.n == len(in)) {
		grown := buffers.Get().(*[]byte)
		if size := min(need, max(2*len(in), growLen)); cap(*grown) < size {
			*grown = make([]byte, size)
		}
		*grown = (*grown)[:cap(*grown)]
		c.n = copy(*grown, in[c.r:c.n])
		if c.big != nil {
			putBuffer(c.big)
		}
		c.big = grown
	} else {
		c.n = copy(in, in[c.r:c.n])
	}
	c.r = 0
}

// notePartial calls Partial at the first wait within a PDU.
func (c *Conn) notePartial(waited *bool) {
	if !*waited && c.Partial != nil {
		*waited = true
		c.Partial(true)
	}
}

// Buffered reports whether bytes of a further PDU have arrived already.
func (c *Conn) Buffered() bool { return c.n > c.r }

// Queue encodes a PDU to be sent by the next Flush or Write. If it fails,
// nothing is queued of it.
func (c *Conn) Queue(from int32, p PDU) error {
	if c.out == nil {
		c.out = buffers.Get().(*[]byte)
	}
	start := len(*c.out)
	b, err := p.Append(append(*c.out, make([]byte, HeaderLen)...))
	if err == nil && len(b)-start > MaxLen {
		err = refuse(p.Kind(), ErrTooBig, "PDU exceeds 2 GiB")
	}
	if err != nil {
		return err
	}
	*c.out = b
	h := Header{Len: len(b) - start, Kind: p.Kind(), From: from}
	binary.BigEndian.PutUint32(b[start:], uint32(h.Len))
	binary.BigEndian.PutUint32(b[start+4:], uint32(h.Kind))
	binary.BigEndian.PutUint32(b[start+8:], uint32(h.From))
	if c.Counters != nil && h.Kind >= kindFirst && h.Kind <= kindLast {
		c.Counters.out[h.Kind-kindFirst].Add(1)
	}
	if c.Trace != nil {
		c.Trace(true, h, b[start+HeaderLen:])
	}
	return nil
}

// Flush sends what is queued in one write. After a deadline of the stream has
// passed, Flush may be called again and continues where it was; what is queued
// meanwhile comes after that.
func (c *Conn) Flush() error {
	if c.out == nil {
		return nil
	}
	b, n := *c.out, 0
	var err error
	if len(b) > 0 { // it is empty if all calls of Queue failed
		n, err = c.rw.Write(b)
	}
	if timeout.Is(err) {
		*c.out = append(b[:0], b[n:]...)
	} else {
		putBuffer(c.out)
		c.out = nil
	}
	if err != nil {
		return &OpError{Op: "write", Err: err}
	}
	return nil
}

// Write sends a PDU, after what is queued.
func (c *Conn) Write(from int32, p PDU) error {
	if err := c.Queue(from, p); err != nil {
		return err
	}
	return c.Flush()
}

// Upgrade replaces the stream by the one that f returns, as when TLS starts in
// mid-stream. f gets the old stream, from which the bytes that Conn has read
// ahead come first. What is queued goes to the new stream.
func (c *Conn) Upgrade(f func(io.ReadWriter) io.ReadWriter) {
	ahead := append([]byte(nil), c.in()[c.r:c.n]...)
	c.r = c.n
	c.discardRead()
	c.rw = f(&readAhead{ReadWriter: c.rw, ahead: ahead})
}

// A readAhead is a stream with bytes put back in front of it.
type readAhead struct {
	io.ReadWriter
	ahead []byte
}

func (r *readAhead) Read(p []byte) (int, error) {
	if len(r.ahead) > 0 {
		n := copy(p, r.ahead)
		r.ahead = r.ahead[n:]
		return n, nil
	}
	return r.ReadWriter.Read(p)
}
