package pdu

import (
	"cmp"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
)

// A ResultWriter builds a result: Begin opens the set of a metric, the methods
// named for types add values to it, and Fail replaces them with an error. A set
// without values and error means "no values now". The result can be encoded in
// any Format, and its sets copied into other writers.
//
// A value that the layout cannot hold fails only its own set. A value of more than 16 MiB, or one
// that makes the result longer than MaxLen, is ErrTooBig. 32-bit integers beside values of other
// types are ErrType. A value that is added while no set is open is dropped.
//
// The zero value is ready for use. Reset keeps the memory, so that a used writer
// allocates nothing unless the result is longer than before. One goroutine at a
// time.
type ResultWriter struct {
	// Time is the time of the values. The zero time is encoded as zero.
	Time time.Time
	// Changed is what has changed in an agent, for its collector. If it is not 0 it
	// is encoded in place of Time.
	Changed Change

	// Limit, if not 0, is the greatest Size of the result in bytes. Beyond it, sets with values
	// fail with ErrTooBig, and Err returns ErrTooBig.
	Limit int
	// Memory, if not nil, grants memory before the result grows beyond FreeSize bytes. If it
	// refuses, later sets with values fail with its error, and Err returns it.
	Memory Memory

	sets   []byte    // closed and open sets as on the wire, block indexes from the start of blocks
	blocks []byte    // all blocks, padded
	ends   []setSpan // where the closed sets end
	open   bool
	start  setSpan // where the open set begins
	n      uint32  // its values
	form   uint32  // and their form
	below  int     // the Size below which more values of the form fit; 0 before the first value or if no more fit
	bad    Error   // why it failed

	reserved int   // what Memory has granted so far
	err      error // see Err
}

// FreeSize is how many bytes a ResultWriter may use before it reserves Memory.
const FreeSize = 4 << 10

// Memory limits the memory of replies.
type Memory interface {
	// Reserve grants n more bytes or fails: with ErrTooBig if the reply is too large in any case,
	// with ErrAgain if there is too little memory now.
	Reserve(n int) error
}

// A setSpan is an end of a set in both buffers.
type setSpan struct{ sets, blocks uint32 }

// Reset empties w for another result. It keeps the memory; the exported fields become zero.
func (w *ResultWriter) Reset() {
	*w = ResultWriter{sets: w.sets[:0], blocks: w.blocks[:0], ends: w.ends[:0]}
}

// HasSets reports whether the writer has exactly the sets of ids, in order.
func (w *ResultWriter) HasSets(ids []PMID) bool {
	w.close()
	if len(w.ends) != len(ids) {
		return false
	}
	at := uint32(0)
	for i, e := range w.ends {
		if PMID(binary.BigEndian.Uint32(w.sets[at:])) != ids[i] {
			return false
		}
		at = e.sets
	}
	return true
}

// Len is the number of sets begun.
func (w *ResultWriter) Len() int {
	if w.open {
		return len(w.ends) + 1
	}
	return len(w.ends)
}

// Size is the number of bytes that the sets and their blocks take on the wire.
func (w *ResultWriter) Size() int { return len(w.sets) + len(w.blocks) }

// Cap is the Size that the memory of w has room for.
func (w *ResultWriter) Cap() int { return cap(w.sets) + cap(w.blocks) }

// Err reports why the result cannot be used: it exceeds Limit, or Memory refused to grow. A writer
// of a long result may stop then.
func (w *ResultWriter) Err() error { return w.err }

// GrowFor makes room for copies of all sets of r, at once. The error is that of Err.
func (w *ResultWriter) GrowFor(r *Result) error {
	if len(r.sets) == 0 {
		return w.err
	}
	end := int(r.sets[len(r.sets)-1])
	sets := end - (r.Format.prefix() - HeaderLen)
	blocks := len(r.buf) - end
	if w.reserve(sets + blocks) {
		w.sets, w.blocks = grow(w.sets, sets), grow(w.blocks, blocks)
	}
	return w.err
}

// growAll makes room in a long result for all bytes that Memory has granted, in the
// proportion that sets and blocks have, and for a short value that may exceed them.
func (w *ResultWriter) growAll() {
	size := w.Size()
	if size < longResult {
		return // append is as good
	}
	more := w.reserved - size
	sets := int(int64(more) * int64(len(w.sets)) / int64(size))
	w.sets, w.blocks = grow(w.sets, sets+2*longValue), grow(w.blocks, more-sets+2*longValue)
}

// grow is slices.Grow, except that other goroutines may run while it copies a long buffer.
// slices.Grow keeps its thread until all is copied: 0.1 s and more for 16 MiB in new pages.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n || len(b) < longResult {
		return slices.Grow(b, n)
	}
	grown := make([]byte, len(b), len(b)+n)
	for from := 0; from < len(b); from += yieldBytes {
		copy(grown[from:], b[from:min(from+yieldBytes, len(b))])
		runtime.Gosched()
	}
	return grown
}

// yieldBytes is how much of a long result is copied before other goroutines may run.
const yieldBytes = 128 << 10

// limit is the greatest Size.
func (w *ResultWriter) limit() int { return cmp.Or(w.Limit, MaxLen) }

// granted is the Size that the result may have without asking for more.
func (w *ResultWriter) granted() int {
	if w.Memory == nil {
		return w.limit()
	}
	return min(w.limit(), max(w.reserved, FreeSize))
}

// reserve reports whether the result may grow by n bytes. It reserves memory if necessary: twice as
// much as before or, for a long result, half as much again. If it returns false, the result has
// failed permanently, unless only the layout limits it.
func (w *ResultWriter) reserve(n int) bool {
	need := w.Size() + n
	switch {
	case w.err != nil:
		return false
	case need > w.limit():
		if w.Limit != 0 {
			w.err = ErrTooBig
		}
		return false
	case w.Memory == nil || need <= max(w.reserved, FreeSize):
		return true
	}
	grown := 2 * w.reserved
	if grown > longResult {
		grown = w.reserved + w.reserved/2
	}
	want := max(need, min(grown, w.limit()), 4*FreeSize)
	if w.err = w.Memory.Reserve(want - w.reserved); w.err != nil {
		return false
	}
	w.reserved = want
	w.growAll()
	return true
}

// longResult is the Size above which a result grows in smaller steps.
const longResult = 512 << 10

// errCode is the code of a set that cannot have values.
func (w *ResultWriter) errCode() Error {
	if w.err != nil {
		return FromError(w.err)
	}
	return ErrTooBig
}

// Begin opens the set of a metric, and closes the one that is open.
func (w *ResultWriter) Begin(id PMID) {
	w.close()
	w.open, w.n, w.below, w.bad = true, 0, 0, 0
	w.start = setSpan{uint32(len(w.sets)), uint32(len(w.blocks))}
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(id)<<32)
}

// Fail replaces the values of the open set by an error. Values added later are dropped. An e of 0
// or more counts as ErrGeneric.
func (w *ResultWriter) Fail(e Error) {
	if !w.open {
		return
	}
	w.below = 0
	w.bad = min(e, 0)
	if w.bad == 0 {
		w.bad = ErrGeneric
	}
}

// close completes the open set.
func (w *ResultWriter) close() {
	if !w.open {
		return
	}
	w.open = false
	n := w.n
	w.below = 0
	if w.bad != 0 {
		n = uint32(w.bad)
		w.sets = w.sets[:w.start.sets+setHeadLen]
		w.blocks = w.blocks[:w.start.blocks]
	}
	binary.BigEndian.PutUint32(w.sets[w.start.sets+4:], n)
	w.ends = append(w.ends, setSpan{uint32(len(w.sets)), uint32(len(w.blocks))})
}

// add adds an instance and a word to the open set, unless no more values fit.
func (w *ResultWriter) add(form uint32, inst InstID, word uint32) bool {
	if !w.accepts(form) {
		return false
	}
	w.n++
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(uint32(inst))<<32|uint64(word))
	return true
}

// accepts reports whether a value of a form may join the open set. The part for
// all values but the first is small enough to be inlined.
func (w *ResultWriter) accepts(form uint32) bool {
	return w.form == form && w.Size() < w.below || w.acceptsSlow(form)
}

// acceptsSlow is the rest of accepts.
func (w *ResultWriter) acceptsSlow(form uint32) bool {
	if !w.open || w.bad != 0 {
		return false
	}
	w.below = w.granted() + 1 // one value more is still within a setSpan
	if w.err != nil || w.Size() >= w.below {
		if !w.reserve(0) {
			w.Fail(w.errCode())
			return false
		}
		w.below = w.granted() + 1
	}
	if w.n > 0 && w.form != form {
		return w.acceptsMixed(form)
	}
	if w.n == 0 {
		w.form = form
		w.sets = binary.BigEndian.AppendUint32(w.sets, form)
	}
	return true
}

// acceptsLong reports whether a value of n bytes, which may be many, may join the
// open set as far as memory goes.
func (w *ResultWriter) acceptsLong(n int) bool {
	switch {
	case !w.open || w.bad != 0:
		return false
	case n+blockHeadLen > maxBlockLen:
		w.Fail(ErrTooBig)
		return false
	case n > longValue && !w.reserve(n):
		w.Fail(w.errCode())
		return false
	}
	return true
}

// Values of more than longValue bytes reserve memory separately. Shorter values may exceed the
// reserved memory.
const longValue = 256

// acceptsMixed reports whether a value of another form may join the open set: if
// both forms are in blocks.
func (w *ResultWriter) acceptsMixed(form uint32) bool {
	if w.form != valInsitu && form != valInsitu {
		return true
	}
	w.Fail(ErrType)
	return false
}

// nextIndex is the word index of the next block from the start of blocks.
func (w *ResultWriter) nextIndex() uint32 { return uint32(len(w.blocks) / 4) }

// Int32 adds a value of Type32. Inst is NoInst for a singular metric.
func (w *ResultWriter) Int32(inst InstID, v int32) { w.add(valInsitu, inst, uint32(v)) }

// Uint32 adds a value of TypeU32.
func (w *ResultWriter) Uint32(inst InstID, v uint32) { w.add(valInsitu, inst, v) }

// Int64 adds a value of Type64.
func (w *ResultWriter) Int64(inst InstID, v int64) { w.addEight(Type64, inst, uint64(v)) }

// Uint64 adds a value of TypeU64.
func (w *ResultWriter) Uint64(inst InstID, v uint64) { w.addEight(TypeU64, inst, v) }

// Float64 adds a value of TypeDouble.
func (w *ResultWriter) Float64(inst InstID, v float64) {
	w.addEight(TypeDouble, inst, math.Float64bits(v))
}

// addEight adds a value of eight bytes.
func (w *ResultWriter) addEight(t Type, inst InstID, bits uint64) {
	if !w.accepts(valDPtr) {
		return
	}
	w.n++
	b := w.blocks
	w.sets = binary.BigEndian.AppendUint64(w.sets, uint64(uint32(inst))<<32|uint64(len(b)/4))
	b = binary.BigEndian.AppendUint32(b, uint32(t)<<24|blockHeadLen+8)
	w.blocks = binary.BigEndian.AppendUint64(b, bits)
}

// Float32 adds a value of TypeFloat.
func (w *ResultWriter) Float32(inst InstID, v float32) {
	if w.add(valDPtr, inst, w.nextIndex()) {
		w.blocks = binary.BigEndian.AppendUint64(w.blocks,
			uint64(uint32(TypeFloat)<<24|blockHeadLen+4)<<32|uint64(math.Float32bits(v)))
	}
}

// String adds a value of TypeString. The NUL at its end is added.
func (w *ResultWriter) String(inst InstID, s string) {
	if !w.acceptsLong(len(s)+1) || !w.add(valDPtr, inst, w.nextIndex()) {
		return
	}
	w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(TypeString)<<24|uint32(len(s)+1+blockHeadLen))
	w.blocks = append(w.blocks, s...)
	w.blocks = append(w.blocks, 0)
	w.pad()
}

// Bytes adds a value of type TypeAggregate, TypeAggregateStatic, TypeEvent or
// TypeHighResEvent. Those of events are the array without its block header, as
// Atom.Bytes returns it. Other types fail the set with ErrType. Static aggregates
// and event arrays have the form on the wire that C agents use for them.
func (w *ResultWriter) Bytes(t Type, inst InstID, v []byte) {
	form := uint32(valDPtr)
	switch t {
	case TypeAggregate:
	case TypeAggregateStatic, TypeEvent, TypeHighResEvent:
		form = valSPtr
	default:
		w.Fail(ErrType)
		return
	}
	w.addBlock(form, inst, t, v)
}

// addBlock adds a value in a block, with any bytes.
func (w *ResultWriter) addBlock(form uint32, inst InstID, t Type, v []byte) {
	if w.acceptsLong(len(v)) && w.add(form, inst, w.nextIndex()) {
		w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(t)<<24|uint32(len(v)+blockHeadLen))
		w.blocks = append(w.blocks, v...)
		w.pad()
	}
}

func (w *ResultWriter) pad() {
	n := len(w.blocks)
	w.blocks = append(w.blocks, "~~~"[:wire.Pad4(n)-n]...)
}

// Atom adds a value of any type. A type that has no values fails the set with
// ErrType.
func (w *ResultWriter) Atom(inst InstID, a Atom) {
	switch a.Type {
	case Type32, TypeU32, Type64, TypeU64, TypeFloat, TypeDouble:
		w.addNumber(inst, a.Type, a.bits)
	case TypeString:
		if w.acceptsLong(len(a.data)+1) && w.add(valDPtr, inst, w.nextIndex()) {
			w.blocks = binary.BigEndian.AppendUint32(w.blocks, uint32(TypeString)<<24|uint32(len(a.data)+1+blockHeadLen))
			w.blocks = append(append(w.blocks, a.data...), 0)
			w.pad()
		}
	default:
		w.Bytes(a.Type, inst, a.data)
	}
}

// Copy adds a set of a decoded result with its values as they are. A set with a
// malformed block, or whose values share one, becomes ErrIPC.
func (w *ResultWriter) Copy(s ValueSet) {
	w.Begin(s.PMID)
	if n := s.count(); n < 0 {
		w.bad = Error(n)
		return
	}
	left := len(s.buf)
	for i := range s.Len() {
		if s.form() == valInsitu {
			w.add(valInsitu, s.Inst(i), s.word(i))
			continue
		}
		off, n, ok := s.block(i)
		if left -= n; !ok || left < 0 {
			w.Fail(ErrIPC)
			return
		}
		w.addBlock(s.form(), s.Inst(i), Type(s.buf[off]), s.buf[off+blockHeadLen:off+n])
	}
}

// CopySets adds the sets of another writer from index i up to, but not including, j.
func (w *ResultWriter) CopySets(from *ResultWriter, i, j int) {
	w.close()
	from.close()
	if i >= j {
		return
	}
	var a setSpan
	if i > 0 {
		a = from.ends[i-1]
	}
	z := from.ends[j-1]
	if !w.reserve(int(z.sets-a.sets) + int(z.blocks-a.blocks)) {
		w.copyFitting(from, i, j, a)
		return
	}
	// Differences below zero wrap around, and back when they are added.
	moved := setSpan{uint32(len(w.sets)) - a.sets, uint32(len(w.blocks)) - a.blocks}
	delta := w.nextIndex() - a.blocks/4 // in words, apart from moved: a quotient does not wrap back
	w.sets = append(w.sets, from.sets[a.sets:z.sets]...)
	w.blocks = append(w.blocks, from.blocks[a.blocks:z.blocks]...)
	for _, e := range from.ends[i:j] {
		if e.blocks != a.blocks && delta != 0 {
			rebase(w.sets[a.sets+moved.sets:e.sets+moved.sets], delta)
		}
		w.ends = append(w.ends, setSpan{e.sets + moved.sets, e.blocks + moved.blocks})
		a = e
	}
}

// copyFitting copies sets one by one; one that does not fit becomes ErrTooBig.
func (w *ResultWriter) copyFitting(from *ResultWriter, i, j int, a setSpan) {
	if j > i+1 {
		for ; i < j; i++ {
			w.CopySets(from, i, i+1)
		}
		return
	}
	w.Begin(PMID(binary.BigEndian.Uint32(from.sets[a.sets:])))
	w.Fail(w.errCode())
}

// rebase adds delta to the block index of every value of one set.
func rebase(set []byte, delta uint32) {
	v := set[setHeadLen+4:]
	for ; len(v) >= 4*valueLen; v = v[4*valueLen:] { // at once, so that the bounds are checked once
		p := (*[4 * valueLen]byte)(v)
		for k := range 4 {
			binary.BigEndian.PutUint32(p[k*valueLen+4:], binary.BigEndian.Uint32(p[k*valueLen+4:])+delta)
		}
	}
	for ; len(v) >= valueLen; v = v[valueLen:] {
		w := v[4:8]
		binary.BigEndian.PutUint32(w, binary.BigEndian.Uint32(w)+delta)
	}
}

// Append adds the body of a result in a format to b, whose last HeaderLen bytes
// are the place of the header. What does not fit a PDU is ErrTooBig.
func (w *ResultWriter) Append(b []byte, f Format) ([]byte, error) {
	w.close()
	if w.Size() > MaxLen-f.prefix() {
		return b, refuse(f.Kind(), ErrTooBig, "result exceeds 2 GiB")
	}
	sec, nsec := int64(w.Changed), int64(0)
	if w.Changed == 0 && !w.Time.IsZero() {
		sec, nsec = w.Time.Unix(), int64(w.Time.Nanosecond())
	}
	b, err := appendPrefix(slices.Grow(b, f.prefix()+w.Size()), f, len(w.ends), sec, nsec)
	if err != nil {
		return b, err
	}
	at := len(b)
	b = append(b, w.sets...)
	delta := uint32(f.prefix()+len(w.sets)) / 4
	from := setSpan{}
	for _, to := range w.ends {
		if to.blocks != from.blocks {
			rebase(b[at+int(from.sets):at+int(to.sets)], delta)
		}
		from = to
	}
	return append(b, w.blocks...), nil
}

// Fill makes r the result, in r's memory and r.Format. r gets the Time and Changed of w. Fill
// returns the error of Append, and r is empty then.
func (w *ResultWriter) Fill(r *Result) error {
	b, err := w.Append(r.buf[:0], r.Format)
	if err != nil {
		_ = r.fail(nil)
		return err
	}
	at := int32(len(b) - w.Size()) // where the sets begin
	sets := append(r.sets[:0], at)
	for _, e := range w.ends {
		sets = append(sets, at+int32(e.sets))
	}
	r.buf, r.sets, r.Time, r.Changed = b, sets, w.Time, w.Changed
	return nil
}

// appendPrefix adds what precedes the sets in a body.
func appendPrefix(b []byte, f Format, sets int, sec, nsec int64) ([]byte, error) {
	switch f {
	case FormatHighRes:
		b = binary.BigEndian.AppendUint32(b, uint32(sets))
		b = binary.BigEndian.AppendUint64(b, uint64(sec))
		return binary.BigEndian.AppendUint64(b, uint64(nsec)), nil
	case FormatArchive:
		b = binary.BigEndian.AppendUint32(b, uint32(sec))
		b = binary.BigEndian.AppendUint32(b, uint32(sec>>32))
		b = binary.BigEndian.AppendUint32(b, uint32(nsec))
		return binary.BigEndian.AppendUint32(b, uint32(sets)), nil
	}
	if sec != int64(int32(sec)) {
		return b, refuse(f.Kind(), ErrTooBig, "time beyond 32-bit seconds")
	}
	b = binary.BigEndian.AppendUint32(b, uint32(sec))
	b = binary.BigEndian.AppendUint32(b, uint32(nsec/1000))
	return binary.BigEndian.AppendUint32(b, uint32(sets)), nil
}

// A writer as a PDU: one type for each format, since a pointer becomes an
// interface value without an allocation.
type (
	lowResPDU  ResultWriter
	highResPDU ResultWriter
)

// PDU is the result as a PDU of a format, for Conn.Write and Conn.Queue. These
// encode w when they are called: w must not change before.
func (w *ResultWriter) PDU(f Format) PDU {
	if f == FormatHighRes {
		return (*highResPDU)(w)
	}
	return (*lowResPDU)(w)
}

func (*lowResPDU) Kind() Kind  { return KindResult }
func (*highResPDU) Kind() Kind { return KindHighResResult }

func (p *lowResPDU) Append(b []byte) ([]byte, error) {
	return (*ResultWriter)(p).Append(b, FormatLowRes)
}

func (p *highResPDU) Append(b []byte) ([]byte, error) {
	return (*ResultWriter)(p).Append(b, FormatHighRes)
}

// Result returns the result as a Result with separate memory.
func (w *ResultWriter) Result() (*Result, error) {
	r := &Result{Format: FormatHighRes}
	b, err := w.Append(make([]byte, HeaderLen, HeaderLen+r.Format.prefix()+w.Size()), r.Format)
	if err != nil {
		return nil, err
	}
	return r, r.Decode(b[HeaderLen:])
}
