package pdu

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

const (
	// MaxLen is the length of the longest PDU that PCP sends, header included.
	MaxLen = math.MaxInt32 - 1024

	inlineLen = 512     // PDUs up to this length are read into Conn.small
	growLen   = 1 << 16 // the most that is allocated for a PDU before its bytes arrive
	keepLen   = 1 << 18 // larger buffers are not kept for the next PDU
	skipLen   = 1 << 16 // the most that one read takes of a discarded PDU
	startLen  = 16      // how much of a discarded body is kept
)

// A Conn reads and writes PDUs over a stream. It holds no long buffer while it waits for the next
// PDU, so an idle connection costs little; see Eager.
//
// One goroutine may read while another writes. Set the exported fields before the first use. The
// caller owns the stream: it sets deadlines and closes it.
type Conn struct {
	// MaxLen is the length of the longest PDU that Read accepts, in bytes. 0 means the constant
	// MaxLen. After a longer PDU, Read fails with ErrTooBig and the stream cannot be used further.
	MaxLen int
	// Eager makes Read allocate a buffer of the last PDU's length before it waits, so that one read
	// of the stream can return the next PDU whole. Set it on connections that read only after
	// sending a request.
	Eager bool
	// Growth limits how fast the buffer of a partly read PDU grows beyond 64 KiB: a new buffer is
	// at most Growth times as long as the last. 0 means 2. With a greater value, Read copies less
	// and leaves less memory to the garbage collector: 1/(Growth-1) of a long PDU.
	Growth int
	// Separate makes Flush call Write once for each PDU. Use it with TLS, where each write
	// is one record. PCP's pmcd waits for the socket after the first PDU of a record, even if the
	// record has more.
	Separate bool
	// Counters, if not nil, count the PDUs that are read and queued.
	Counters *Counters
	// Trace, if not nil, is called with every PDU that Read returns (out is false) or Queue encodes
	// (out is true). It must not keep or change body.
	Trace func(out bool, h Header, body []byte)
	// Admit, if not nil, decides whether Read accepts a PDU of more than 512 bytes. If Admit fails,
	// Read discards the PDU and returns that error with the first 16 bytes of the body; the next
	// Read then reads the next PDU. Otherwise Read allocates the whole buffer at once.
	Admit func(h Header) error
	// Partial, if not nil, is called with true when Read has part of a PDU and waits for the rest,
	// and with false after that wait. It can set a deadline for the wait.
	Partial func(waiting bool)

	rw   io.ReadWriter
	r, n int     // unread bytes are in()[r:n]
	big  *[]byte // replaces small for a long PDU; its length is its capacity
	last int     // length of the last PDU

	// spare is the last long buffer that the caller did not keep. The next long PDU reuses it
	// unless it has been collected.
	spare weak.Pointer[[]byte]

	head     Header         // of the PDU that is being read
	admitted bool           // Admit was called for it
	skip     int            // how many more of its bytes to discard
	refused  error          // why it is discarded, or nil
	start    [startLen]byte // the start of its body, if it is discarded

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

// Read waits for the next PDU and reads it. The body is valid until the next call of Read,
// ReadStart or Release.
//
// At the end of the stream between PDUs the error is io.EOF itself; all others are an *OpError.
// After a deadline of the stream has passed, Read may be called again and continues where it was.
// It may also be called again after an error of Admit. Any other error means that the stream
// cannot be used further: io.ErrUnexpectedEOF within a PDU, ErrIPC for an invalid length or kind,
// ErrTooBig above MaxLen (with the Header), or the error of the stream.
func (c *Conn) Read() (Header, []byte, error) {
	c.discardRead()
	waited := false
	h, body, err := c.read(&waited)
	if waited && c.Partial != nil {
		c.Partial(false)
	}
	return c.finishRead(h, body, err)
}

// finishRead counts and traces a PDU that has been read, or wraps the error.
func (c *Conn) finishRead(h Header, body []byte, err error) (Header, []byte, error) {
	if err != nil {
		if err != io.EOF {
			err = &OpError{Op: "read", Kind: h.Kind, Err: err}
		}
		return h, body, err
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
	if c.refused != nil {
		return c.finishSkip(waited)
	}
	for c.n-c.r < HeaderLen {
		if err := c.fill(HeaderLen, waited); err != nil {
			return Header{}, nil, err
		}
	}
	h, err := c.header()
	if err != nil {
		return h, nil, err
	}
	if h.Len > inlineLen && c.Admit != nil && !c.admitted {
		for c.n-c.r < HeaderLen+startLen {
			if err := c.fill(HeaderLen+startLen, waited); err != nil {
				return h, nil, err
			}
		}
		if err := c.Admit(h); err != nil {
			c.skipRest(h, err)
			return c.finishSkip(waited)
		}
		c.admitted = true
	}
	for c.n-c.r < h.Len {
		if err := c.fill(h.Len, waited); err != nil {
			return h, nil, err
		}
	}
	c.admitted = false
	body := c.in()[c.r+HeaderLen : c.r+h.Len : c.r+h.Len]
	c.r += h.Len
	c.last = h.Len
	return h, body, nil
}

// header decodes and checks the header that has arrived.
func (c *Conn) header() (Header, error) {
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
		return h, problem{ErrIPC, "length below that of a header"}
	case h.Kind < 0:
		return h, problem{ErrIPC, "negative type"}
	case h.Len > limit:
		return h, ErrTooBig
	}
	return h, nil
}

// ReadStart is like Read but returns at most the first 16 bytes of the body. It discards the rest
// as it arrives. It can follow a Read that failed at a deadline within a PDU. It does not call
// Admit.
func (c *Conn) ReadStart() (Header, []byte, error) {
	c.discardRead()
	waited := false
	h, start, err := c.readStart(&waited)
	if waited && c.Partial != nil {
		c.Partial(false)
	}
	return c.finishRead(h, start, err)
}

func (c *Conn) readStart(waited *bool) (Header, []byte, error) {
	if c.refused == nil {
		for c.n-c.r < HeaderLen {
			if err := c.fill(HeaderLen, waited); err != nil {
				return Header{}, nil, err
			}
		}
		h, err := c.header()
		if err != nil {
			return h, nil, err
		}
		need := min(HeaderLen+startLen, h.Len)
		for c.n-c.r < need {
			if err := c.fill(need, waited); err != nil {
				return h, nil, err
			}
		}
		c.skipRest(h, errStartOnly)
	}
	refused := c.refused
	h, start, err := c.finishSkip(waited)
	if err == refused {
		err = nil
	}
	return h, start, err
}

// errStartOnly is the reason to discard a PDU that ReadStart reads.
var errStartOnly = problem{ErrIPC, "only the start was read"}

// skipRest discards the rest of a PDU whose start has arrived. err says why.
func (c *Conn) skipRest(h Header, err error) {
	c.head, c.refused, c.admitted = h, err, false
	c.skip = h.Len - min(h.Len, c.n-c.r)
	copy(c.start[:], c.in()[c.r+HeaderLen:c.r+h.Len-c.skip])
	c.r += h.Len - c.skip
	c.discardRead()
}

// finishSkip reads the rest of a discarded PDU. It returns the start of the body and the reason.
func (c *Conn) finishSkip(waited *bool) (Header, []byte, error) {
	for c.skip > 0 {
		c.notePartial(waited)
		n, err := c.readSkipped()
		c.skip -= n
		if n > 0 {
			continue
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return c.head, nil, err
	}
	err := c.refused
	c.refused = nil
	return c.head, c.start[:min(startLen, c.head.Len-HeaderLen)], err
}

// Keep gives the caller the last body that Read returned, and reports whether it did. It does so
// only for PDUs whose buffer exceeds 256 KiB. Methods such as Result.DecodeInPlace can then decode
// the body without a copy.
func (c *Conn) Keep() bool {
	if c.big == nil || cap(*c.big) <= keepLen || c.n-c.r > inlineLen {
		return false
	}
	c.n = copy(c.small[:], (*c.big)[c.r:c.n])
	c.r, c.big = 0, nil
	return true
}

// in returns the buffer for reading.
func (c *Conn) in() []byte {
	if c.big != nil {
		return *c.big
	}
	return c.small[:]
}

// discardRead drops the PDU that has been read, and releases the large buffer if the unread rest
// fits into the small one.
func (c *Conn) discardRead() {
	if c.big != nil && c.n-c.r <= inlineLen {
		c.n = copy(c.small[:], (*c.big)[c.r:c.n])
		c.r = 0
		c.putBuffer(c.big)
		c.big = nil
	}
	if c.r == c.n {
		c.r, c.n = 0, 0
	}
}

// fill reads more of a PDU. At least need bytes of the PDU will come.
func (c *Conn) fill(need int, waited *bool) error {
	if c.n > c.r {
		c.notePartial(waited)
	} else if c.Eager && c.last > inlineLen {
		need = max(need, min(c.last+inlineLen, keepLen)) // and a small one before it
	}
	c.makeRoom(need)
	n, err := c.readSome(c.in()[c.n:])
	if (c.n+n)/keepLen > c.n/keepLen { // a long PDU keeps others waiting
		runtime.Gosched()
	}
	c.n += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && c.n > c.r {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readSome reads at least one byte or fails.
func (c *Conn) readSome(b []byte) (n int, err error) {
	for n == 0 && err == nil {
		n, err = c.rw.Read(b)
	}
	return n, err
}

// makeRoom makes room for a PDU, in a buffer that grows as bytes arrive.
func (c *Conn) makeRoom(need int) {
	in := c.in()
	if c.r+need <= len(in) {
		return
	}
	if need > len(in) && (c.big == nil || c.n == len(in)) {
		size := need
		if !c.admitted {
			size = max(stepTo(need, len(in), cmp.Or(c.Growth, 2)), min(need, growLen))
		}
		grown := c.getBuffer(size)
		c.n = copy(*grown, in[c.r:c.n])
		if c.big != nil {
			c.putBuffer(c.big)
		}
		c.big = grown
	} else {
		c.n = copy(in, in[c.r:c.n])
	}
	c.r = 0
}

// getBuffer returns a buffer of at least size bytes, whose length is its capacity.
func (c *Conn) getBuffer(size int) *[]byte {
	if size > keepLen {
		if b := c.spare.Value(); b != nil && cap(*b) >= size {
			c.spare = weak.Pointer[[]byte]{}
			return b
		}
		b := make([]byte, size)
		return &b
	}
	b := buffers.Get().(*[]byte)
	if cap(*b) < size {
		*b = make([]byte, size)
	}
	*b = (*b)[:cap(*b)]
	return b
}

// putBuffer keeps a buffer of getBuffer for later use.
func (c *Conn) putBuffer(b *[]byte) {
	if cap(*b) > keepLen {
		c.spare = weak.Make(b)
		return
	}
	putBuffer(b)
}

// stepTo returns the next length of a buffer of n bytes that grows to need bytes, in each step at
// most by the factor growth. Only the first step is shorter, so all buffers before the last have
// together less than need/(growth-1) bytes.
func stepTo(need, n, growth int) int {
	size := need
	for size > growth*n {
		size = (size + growth - 1) / growth
	}
	return size
}

// notePartial calls Partial at the first wait within a PDU.
func (c *Conn) notePartial(waited *bool) {
	if !*waited && c.Partial != nil {
		*waited = true
		c.Partial(true)
	}
}

// readSkipped reads bytes to discard.
func (c *Conn) readSkipped() (int, error) {
	if c.skip <= skipLen {
		return c.readSome(c.small[:min(c.skip, inlineLen)])
	}
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	*b = slices.Grow((*b)[:0], skipLen)[:skipLen]
	return c.readSome(*b)
}

// Release frees the memory of the last PDU that Read returned, and makes its body invalid. Without
// it a long PDU keeps its memory until the next Read.
func (c *Conn) Release() { c.discardRead() }

// Buffered reports whether Conn holds bytes of the next PDU, or has discarded only a part of a PDU.
func (c *Conn) Buffered() bool { return c.n > c.r || c.refused != nil }

// Queue encodes a PDU for the next Flush or Write. from is the sender in the header. On failure
// Queue adds nothing.
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
	h.append(b[start:start])
	c.count(h)
	if c.Trace != nil {
		c.Trace(true, h, b[start+HeaderLen:])
	}
	return nil
}

// count counts a queued PDU.
func (c *Conn) count(h Header) {
	if c.Counters != nil && h.Kind >= kindFirst && h.Kind <= kindLast {
		c.Counters.out[h.Kind-kindFirst].Add(1)
	}
}

// Flush sends the queued PDUs, in one write unless Separate is set. After a deadline of the stream
// has passed, Flush may be called again and continues where it was; PDUs queued meanwhile follow.
// After any other error the queued PDUs are lost.
func (c *Conn) Flush() error {
	if c.out == nil {
		return nil
	}
	b, n := *c.out, 0
	var err error
	for n < len(b) && err == nil { // b is empty if all calls of Queue failed
		end := len(b)
		if c.Separate && end-n > HeaderLen {
			if size := int(int32(binary.BigEndian.Uint32(b[n:]))); size > 0 && size < end-n {
				end = n + size
			}
		}
		var wrote int
		wrote, err = c.rw.Write(b[n:end])
		n += wrote
	}
	if ctxwait.TimedOut(err) {
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

// Write queues a PDU and calls Flush. If the PDU cannot be encoded, nothing is sent.
func (c *Conn) Write(from int32, p PDU) error {
	if err := c.Queue(from, p); err != nil {
		return err
	}
	return c.Flush()
}

// Upgrade replaces the stream by the one that f returns, for example when TLS starts. f gets the
// old stream, which first yields the bytes that Conn has read ahead. Queued PDUs go to the new
// stream.
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
