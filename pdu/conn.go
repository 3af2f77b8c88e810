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
	// MaxLen is the greatest length of a PDU with its header that PCP sends.
	MaxLen = math.MaxInt32 - 1024

	inlineLen = 512     // PDUs up to this length need no buffer to be read
	growLen   = 1 << 16 // the most that is allocated for a PDU before its bytes arrive
	keepLen   = 1 << 18 // larger buffers are not kept for the next PDU
	skipLen   = 1 << 16 // at most that much of a PDU that is discarded is read at once
	startLen  = 16      // that much of its body is kept
)

// A Conn reads and writes PDUs over a stream. It holds no buffer while it waits
// for the next PDU, so that an idle connection costs little; see Eager.
//
// One goroutine at a time may read, and one at the same time may write. The
// exported fields are set before the first use. Deadlines are set on the stream,
// which its owner closes.
type Conn struct {
	// MaxLen is the greatest length of a PDU that Read accepts. 0 means the constant MaxLen. Read
	// fails with ErrTooBig for a longer PDU and leaves it in the stream, which cannot be used
	// further.
	MaxLen int
	// Eager makes Read get a buffer for a PDU as long as the last one before it
	// waits, so that one read of the stream gets the PDU whole. Set it on
	// connections that read only after sending a request.
	Eager bool
	// Growth is the length of the buffer of a partly read PDU, divided by that of the part that has
	// arrived. 0 means 2. With a greater value, Read copies less and leaves less memory to the
	// garbage collector: 1/(Growth-1) of a long PDU.
	Growth int
	// Separate makes Flush write each PDU with a separate call. Use it with TLS, where each write
	// is one record. PCP's pmcd waits for the socket after the first PDU of a record, even if the
	// record has more.
	Separate bool
	// Counters, if not nil, count the PDUs that are read and written.
	Counters *Counters
	// Trace, if not nil, is called with every PDU that has been read or, with out,
	// is going to be written. It must not keep or change body.
	Trace func(out bool, h Header, body []byte)
	// Read calls Admit, if not nil, with the header of a PDU of more than 512 bytes, which needs a
	// buffer. If Admit returns an error, Read discards the PDU as it arrives, and returns that
	// error with the first 16 bytes of the body. The next PDU can be read then. Otherwise Read
	// allocates the whole buffer at once.
	Admit func(h Header) error
	// Read calls Partial, if not nil, with true when it has a part of a PDU and waits for the rest,
	// and with false after that wait. The owner can set a deadline for the wait.
	Partial func(waiting bool)

	rw   io.ReadWriter
	r, n int     // unread bytes are in()[r:n]
	big  *[]byte // what is read into instead of small, in its whole capacity
	last int     // length of the last PDU

	// spare is the last long buffer that the caller did not keep. The next long PDU reuses it
	// unless it has been collected. So a series of long PDUs does not leave a buffer for each to
	// the garbage collector.
	spare weak.Pointer[[]byte]

	head     Header         // of the PDU that is being read
	admitted bool           // Admit was called for it
	skip     int            // how many of its next bytes to discard
	refused  error          // why they are discarded, or nil
	start    [startLen]byte // what is kept of it then

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
	return c.finishRead(h, body, err)
}

// finishRead counts and traces a PDU that has been read, or says why it was not.
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

// header is the header that has arrived, if it can be one.
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

// errStartOnly says that no more than the start of a PDU was to be read.
var errStartOnly = problem{ErrIPC, "only the start was read"}

// skipRest discards the rest of a PDU whose start has arrived. err says why.
func (c *Conn) skipRest(h Header, err error) {
	c.head, c.refused, c.admitted = h, err, false
	c.skip = h.Len - min(h.Len, c.n-c.r)
	copy(c.start[:], c.in()[c.r+HeaderLen:c.r+h.Len-c.skip])
	c.r += h.Len - c.skip
	c.discardRead()
}

// finishSkip waits for the end of a PDU that is discarded, and returns its start and
// why it was.
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

// Keep lets the caller keep the last body that Read has returned, and reports whether it did. It
// does so only for long bodies, whose buffers Conn does not reuse. DecodeInPlace methods, such as
// that of Result, can then decode the body without a copy.
func (c *Conn) Keep() bool {
	if c.big == nil || cap(*c.big) <= keepLen || c.n-c.r > inlineLen {
		return false
	}
	c.n = copy(c.small[:], (*c.big)[c.r:c.n])
	c.r, c.big = 0, nil
	return true
}

// in is the buffer that is read into.
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

// readSome reads at least a byte, or fails.
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

// getBuffer is a buffer of at least size bytes, in its whole capacity.
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

// stepTo is the next length of a buffer of n bytes that grows at most growth times at once and
// gets at last to need bytes: the last steps are whole ones, so that the buffers before the last
// have together less than need/(growth-1) bytes.
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

// Release frees the memory of the last PDU that Read returned, and makes its body invalid. It is
// for a long PDU, which would keep its memory until the next Read.
func (c *Conn) Release() { c.discardRead() }

// Buffered reports whether bytes of a further PDU have arrived already, or a part of
// one that is being discarded.
func (c *Conn) Buffered() bool { return c.n > c.r || c.refused != nil }

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
	h.append(b[start:start])
	c.count(h)
	if c.Trace != nil {
		c.Trace(true, h, b[start+HeaderLen:])
	}
	return nil
}

// count counts a PDU that is going to be written.
func (c *Conn) count(h Header) {
	if c.Counters != nil && h.Kind >= kindFirst && h.Kind <= kindLast {
		c.Counters.out[h.Kind-kindFirst].Add(1)
	}
}

// Flush sends the queued PDUs in one write. After a deadline of the stream has passed, Flush may
// be called again and continues where it was. PDUs queued meanwhile follow.
func (c *Conn) Flush() error {
	if c.out == nil {
		return nil
	}
	b, n := *c.out, 0
	var err error
	for n < len(b) && err == nil { // it is empty if all calls of Queue failed
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

// Write sends a PDU after the queued ones.
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
