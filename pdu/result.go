package pdu

import (
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
)

// A Format is a layout of the part of a result that precedes its value sets.
type Format uint8

// The formats of a result.
const (
	FormatLowRes  Format = iota // RESULT: seconds and microseconds
	FormatHighRes               // HIGHRES_RESULT: seconds and nanoseconds, 64 bits each
	FormatArchive               // a record of a version 3 archive; one of version 2 is FormatLowRes
)

// prefix is the length of what precedes the first set, the header included.
func (f Format) prefix() int {
	switch f {
	case FormatHighRes:
		return 32
	case FormatArchive:
		return 28
	}
	return 24
}

// Kind is the kind of PDU with the format; KindResult for FormatArchive, which is in no PDU.
func (f Format) Kind() Kind {
	if f == FormatHighRes {
		return KindHighResResult
	}
	return KindResult
}

// formatOf is the format of a kind of result.
func formatOf(k Kind) Format {
	if k == KindHighResResult {
		return FormatHighRes
	}
	return FormatLowRes
}

// How the values of a set are represented, PM_VAL_* of the C library.
const (
	valInsitu = 0 // in the value word
	valDPtr   = 1 // in a block
	valSPtr   = 2 // in a block; the sender had it in static memory
)

const (
	setHeadLen   = 8 // PMID and number of values
	valueLen     = 8 // instance and word
	blockHeadLen = 4
	maxBlockLen  = 0xffffff // of a value block with its header
)

// A Result has the values of metrics at one time: encoded bytes with an index. It is the reply to a
// Fetch. A client sends one to store its values. RESULT has, after the header,
//
//	12  int32  seconds       HIGHRES_RESULT:  12  int32  number of sets
//	16  int32  microseconds                   16  int64  seconds
//	20  int32  number of sets                 24  int64  nanoseconds
//
// and a record of an archive, whose two words of length are not part of the body, in version 3
//
//	12  uint32 seconds, low half   16  int32  seconds, high half
//	20  int32  nanoseconds         24  int32  number of sets
//
// then the sets, uint32 PMID · int32 number of values or an error · and, if
// there are values, int32 form · each int32 instance · uint32 value or word
// index of its block from the start of the PDU; then the blocks, uint8 type ·
// uint24 length with this word · bytes, padded.
//
// Decode copies into the Result's own buffer, and reuses it: decoding into a
// used Result allocates nothing. Decode checks that the sets lie within the
// bytes; a block is checked when its value is read, or by Validate.
//
// One goroutine at a time may decode; several may read. It is pmResult and
// pmHighResResult of the C library.
type Result struct {
	Format  Format    // what Decode reads and Append writes
	Time    time.Time // of the values; zero if both parts on the wire are 0
	Changed Change    // what changed in the collector before; not encoded, and Decode clears it

	buf  []byte // the body
	sets []int32
}

// Kind is KindResult or KindHighResResult, as r.Format says.
func (r *Result) Kind() Kind { return r.Format.Kind() }

// Decode fills r from a body of r.Format. The body is copied.
func (r *Result) Decode(body []byte) error {
	return r.DecodeInPlace(append(r.buf[:0], body...))
}

// DecodeInPlace is Decode without a copy: r refers to the body, which must not change while r is
// used. The next Decode overwrites it.
func (r *Result) DecodeInPlace(body []byte) error {
	_, err := r.decode(body, false)
	return err
}

// DecodeValid is DecodeInPlace and Validate in one pass.
func (r *Result) DecodeValid(body []byte) error {
	inOrder, err := r.decode(body, true)
	if err == nil && !inOrder {
		err = r.Validate()
	}
	return err
}

// decode fills r from a body. With blocks, inOrder is whether they lie in the order of the
// values and fill the body, as all writers have them; other orders can be valid, too.
func (r *Result) decode(body []byte, blocks bool) (inOrder bool, err error) {
	r.buf = body
	r.sets = r.sets[:0]
	r.Changed = 0
	c := wire.New(r.buf, HeaderLen)
	n := 0
	switch r.Format {
	case FormatHighRes:
		n = c.Count(0, "numpmid")
		sec, nsec := c.Int64("seconds"), c.Int64("nanoseconds")
		r.Time = stamp(sec, nsec)
	case FormatArchive:
		low, high, nsec := c.Uint32("seconds"), c.Int32("seconds"), c.Int32("nanoseconds")
		n = c.Count(0, "numpmid")
		r.Time = stamp(int64(high)<<32|int64(low), int64(nsec))
	default:
		sec, usec := c.Int32("seconds"), c.Int32("microseconds")
		n = c.Count(0, "numpmid")
		r.Time = stamp(int64(sec), int64(usec)*1000)
	}
	if n > c.Left()/setHeadLen {
		back := 4
		if r.Format == FormatHighRes {
			back = 20 // its count precedes the time
		}
		c.Fail("numpmid", back, "%d sets in %d bytes", n, c.Left())
	}
	if err := c.Err(); err != nil {
		return false, r.fail(err)
	}
	return r.index(n, blocks)
}

// stamp returns the time of the wire's two parts. Zero stays zero. An invalid fraction is ignored,
// because collectors forward stores with arbitrary timestamps.
func stamp(sec, nsec int64) time.Time {
	if nsec < 0 || nsec >= int64(time.Second) {
		nsec = 0
	}
	if sec == 0 && nsec == 0 {
		return time.Time{}
	}
	return time.Unix(sec, nsec)
}

func (r *Result) fail(err error) error {
	*r = Result{Format: r.Format, buf: r.buf[:0], sets: r.sets[:0]}
	return malformedIn(r.Kind(), err)
}

// index finds the n sets. The buffer is long enough for their heads. See decode.
func (r *Result) index(n int, blocks bool) (inOrder bool, err error) {
	off, buf := r.Format.prefix()-HeaderLen, r.buf
	first, next := uint32(0), uint32(0) // the index of the first block, and that after the last
	sets := slices.Grow(r.sets[:0], n+1)[:n+1]
	for i := range sets[:n] {
		set := buf[off:]
		if blocks && next > 0 && len(set) >= len(singleSet{}) {
			if after, ok := followSingle(buf, (*singleSet)(set), next); ok {
				sets[i], next = int32(off), after
				off += len(singleSet{})
				continue
			}
		}
		if len(set) < setHeadLen {
			return false, r.fail(&wire.Error{Field: "value set", Offset: off + HeaderLen, Problem: "beyond the end"})
		}
		sets[i] = int32(off)
		v := int32(binary.BigEndian.Uint32(set[4:]))
		if v <= 0 {
			off += setHeadLen
			continue
		}
		if len(set) < setHeadLen+4 || uint(v) > uint(len(set)-setHeadLen-4)/valueLen {
			return false, r.fail(&wire.Error{Field: "numval", Offset: off + 4 + HeaderLen, Problem: "values beyond the end"})
		}
		form := binary.BigEndian.Uint32(set[setHeadLen:])
		if form > valSPtr {
			return false, r.fail(&wire.Error{Field: "valfmt", Offset: off + setHeadLen + HeaderLen, Problem: "unknown form"})
		}
		end := setHeadLen + 4 + int(v)*valueLen
		if blocks && form != valInsitu {
			values := set[setHeadLen+4 : end]
			if next == 0 {
				first = binary.BigEndian.Uint32(values[4:])
				next = first
			}
			next, blocks = follow(buf, values, next)
		}
		off += end
	}
	sets[n] = int32(off) // the start of the blocks
	r.sets = sets
	if first == 0 {
		return blocks && off == len(buf), nil
	}
	return blocks && int(first)*4-HeaderLen == off && int64(next)*4-HeaderLen == int64(len(buf)), nil
}

// A singleSet is a set of one value.
type singleSet [setHeadLen + 4 + valueLen]byte

// followSingle is follow of a set of one value in a block, as most are; ok is false for other ones.
func followSingle(buf []byte, set *singleSet, next uint32) (after uint32, ok bool) {
	index := binary.BigEndian.Uint32(set[setHeadLen+8:])
	at := int64(index)*4 - HeaderLen
	form := binary.BigEndian.Uint32(set[setHeadLen:])
	if binary.BigEndian.Uint32(set[4:]) != 1 || form-valDPtr > valSPtr-valDPtr || index != next || at > int64(len(buf)-blockHeadLen) {
		return 0, false
	}
	n := binary.BigEndian.Uint32(buf[at:]) & maxBlockLen
	return index + (n+3)/4, n >= blockHeadLen
}

// follow goes over the blocks of values. If they follow each other, the first one at index
// next, it returns the index after the last one.
func follow(buf, values []byte, next uint32) (after uint32, ok bool) {
	for _, value := range wire.Octets(values) {
		// To go by the value's index, not by next, lets the processor look ahead.
		index := binary.BigEndian.Uint32(value[4:])
		at := int64(index)*4 - HeaderLen
		if index != next || at < 0 || at > int64(len(buf)-blockHeadLen) {
			return 0, false
		}
		n := binary.BigEndian.Uint32(buf[at:]) & maxBlockLen
		if n < blockHeadLen {
			return 0, false
		}
		next += (n + 3) / 4
	}
	return next, true
}

// Len is the number of sets.
func (r *Result) Len() int { return max(0, len(r.sets)-1) }

// At is the set at index i, valid until r is filled again.
func (r *Result) At(i int) ValueSet {
	off := r.sets[i]
	return ValueSet{PMID: PMID(binary.BigEndian.Uint32(r.buf[off:])), off: off, buf: r.buf}
}

// All yields the sets in order.
func (r *Result) All() iter.Seq2[int, ValueSet] {
	return func(yield func(int, ValueSet) bool) {
		for i := range r.Len() {
			if !yield(i, r.At(i)) {
				return
			}
		}
	}
}

// Clone returns a Result that shares nothing with r.
func (r *Result) Clone() *Result {
	q := *r
	q.buf = append([]byte(nil), r.buf...)
	q.sets = append([]int32(nil), r.sets...)
	return &q
}

// Validate checks every block, and that sets and blocks fill the PDU without
// gaps, as receivers do. It does not look into event arrays.
func (r *Result) Validate() error {
	if len(r.sets) == 0 {
		return nil // never decoded
	}
	lowest, total := len(r.buf), 0
	for i := range r.Len() {
		s := r.At(i)
		if s.Len() == 0 || s.form() == valInsitu {
			continue
		}
		for j := range s.Len() {
			off, n, ok := s.block(j)
			if !ok {
				return malformedIn(r.Kind(), &wire.Error{Field: "value block", Offset: s.value(j) + 4 + HeaderLen, Problem: "outside the PDU"})
			}
			lowest = min(lowest, off)
			total += wire.Pad4(n)
		}
	}
	if end := int(r.sets[len(r.sets)-1]); lowest != end || end+total != len(r.buf) {
		return malformedIn(r.Kind(), &wire.Error{Field: "value blocks", Offset: end + HeaderLen, Problem: "do not fill the PDU exactly"})
	}
	return nil
}

// Append adds the body to b, in r.Format: the sets and their blocks in order.
// What Validate refuses is an error.
func (r *Result) Append(b []byte) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return b, err
	}
	w := ResultWriter{Time: r.Time}
	for _, s := range r.All() {
		w.Copy(s)
	}
	return w.Append(b, r.Format)
}
