package mmv

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A cell is one value of a registry. The zero cell has no slot, belongs to no registry and
// ignores updates. A cell knows where its record lies, which changes when the registry moves from
// one image to another while goroutines update the value. Updates take no lock: they load the
// slot, change the word, and then check whether the slot has been moved. If it has, the move may
// have missed the change, and carry repeats it.
type cell struct {
	slot atomic.Pointer[slot]
	typ  valueType

	// mu is held by all but updates of numbers: moves, reads, and every use of a timer or a text.
	mu sync.Mutex

	metric *metric
	inst   *instance // nil if the metric has no domain
}

// A slot holds a value in a record of an image or in separate memory. A goroutine that holds a slot
// keeps its image from being unmapped.
type slot struct {
	record *[valueLen / 8]uint64
	moved  atomic.Bool // the cell has another slot, or is about to get it
	base   uint64      // what the next slot has got of this one's value; cell.mu
	image  *image      // nil if the slot is not part of an image
	text   *[2 * stringLen / 8]uint64
	offset int // of text in the image
}

// init makes c the value of a metric, in no image yet.
func (c *cell) init(m *metric, inst *instance) {
	c.typ, c.metric, c.inst = m.cells, m, inst
	c.slot.Store(newSlot(m.cells))
}

// newSlot returns a slot that is not part of an image.
func newSlot(t valueType) *slot {
	s := &slot{record: new([valueLen / 8]uint64)}
	if t == typeString {
		s.text = new([2 * stringLen / 8]uint64)
	}
	return s
}

// half is the word as its first four bytes, where 32-bit values are.
func (s *slot) half() *uint32 { return (*uint32)(unsafe.Pointer(&s.record[0])) }

// load is the word of a value of type t; that of a 32-bit one has zeros above it.
func (s *slot) load(t valueType) uint64 {
	if t.is32() {
		return uint64(atomic.LoadUint32(s.half()))
	}
	return atomic.LoadUint64(&s.record[0])
}

func (s *slot) store(t valueType, word uint64) {
	if t.is32() {
		atomic.StoreUint32(s.half(), uint32(word))
		return
	}
	atomic.StoreUint64(&s.record[0], word)
}

func (t valueType) is32() bool    { return t == type32 || t == typeU32 || t == typeFloat }
func (t valueType) isFloat() bool { return t == typeFloat || t == typeDouble }

// addInt adds n to an integer, modulo its size.
func (s *slot) addInt(t valueType, n uint64) {
	if t.is32() {
		atomic.AddUint32(s.half(), uint32(n))
		return
	}
	atomic.AddUint64(&s.record[0], n)
}

// addFloat adds f to a typeFloat or typeDouble.
func (s *slot) addFloat(t valueType, f float64) {
	if t == typeDouble {
		for {
			old := atomic.LoadUint64(&s.record[0])
			if atomic.CompareAndSwapUint64(&s.record[0], old, math.Float64bits(math.Float64frombits(old)+f)) {
				return
			}
		}
	}
	for {
		old := atomic.LoadUint32(s.half())
		if atomic.CompareAndSwapUint32(s.half(), old, math.Float32bits(math.Float32frombits(old)+float32(f))) {
			return
		}
	}
}

// addInt adds n, the bits of a signed or an unsigned number, to an integer; f is the same number
// for a float.
func (c *cell) addInt(n uint64, f float64) {
	s := c.slot.Load()
	if s == nil {
		return
	}
	if c.typ.isFloat() {
		s.addFloat(c.typ, f)
	} else {
		s.addInt(c.typ, n)
	}
	if s.moved.Load() {
		c.carry(s)
	}
}

// addFloat adds f; to an integer it adds the whole part of f.
func (c *cell) addFloat(f float64) {
	s := c.slot.Load()
	if s == nil {
		return
	}
	if c.typ.isFloat() {
		s.addFloat(c.typ, f)
	} else {
		s.addInt(c.typ, wholePart(f))
	}
	if s.moved.Load() {
		c.carry(s)
	}
}

// set stores the word of a value.
func (c *cell) set(word uint64) {
	s := c.slot.Load()
	if s == nil {
		return
	}
	s.store(c.typ, word)
	if s.moved.Load() {
		c.override(s, word)
	}
}

// override stores in the current slot a word that was set in an old slot. The new base keeps carry
// from adding what was added to the old slot before.
func (c *cell) override(old *slot, word uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old.base = old.load(c.typ)
	c.slot.Load().store(c.typ, word)
}

// carry adds to the current slot what an update has added to an old slot after the move. The
// caller does not use the old slot afterwards.
func (c *cell) carry(old *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := old.load(c.typ)
	if now == old.base || !old.moved.Load() {
		return
	}
	s := c.slot.Load()
	switch c.typ {
	case typeDouble:
		s.addFloat(c.typ, math.Float64frombits(now)-math.Float64frombits(old.base))
	case typeFloat:
		s.addFloat(c.typ, float64(math.Float32frombits(uint32(now))-math.Float32frombits(uint32(old.base))))
	default:
		s.addInt(c.typ, now-old.base)
	}
	old.base = now
}

// settle carries additions that were made to an old slot during the move, so that readers of the
// new slot see them at once: the goroutine that made them may carry them much later. A cell that
// can be set, such as a gauge, is not settled: the difference of its old word need not be an
// addition, and the goroutine that set it stores the value in the current slot.
func (c *cell) settle(old *slot) {
	if c.metric.adds {
		c.carry(old)
	}
}

// move gives the cell another slot, with the value that it has, and returns the old one. An update
// that the copy lacks finds the old slot moved, since the mark comes first.
func (c *cell) move(to *slot) (old *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old = c.slot.Load()
	old.moved.Store(true)
	if c.typ == typeString {
		to.setText(old.getText())
	} else {
		old.base = old.load(c.typ)
		to.store(c.typ, old.base)
		if c.typ == typeElapsed {
			atomic.StoreUint64(&to.record[1], atomic.LoadUint64(&old.record[1]))
		}
	}
	c.slot.Store(to)
	return old
}

// word is the value as its handle returns it. It never goes back while the cell is moved.
func (c *cell) word() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.slot.Load(); s != nil {
		return s.load(c.typ)
	}
	return 0
}

// setText stores a text of up to maxString bytes. Of the slot's two strings it writes the one that
// is not the value, and then makes that the value by a single store. A reader sees the old text or
// the new one. cell.mu is held.
func (s *slot) setText(text string) {
	var b [stringLen]byte
	copy(b[:maxString], text)
	next := stringLen - s.current()
	for i := range stringLen / 8 {
		atomic.StoreUint64(&s.text[next/8+i], native.Uint64(b[8*i:]))
	}
	atomic.StoreUint32(s.half(), uint32(len(text)))
	atomic.StoreUint64(&s.record[1], uint64(s.offset+next))
}

// getText is the text that setText has stored. cell.mu is held.
func (s *slot) getText() string {
	var b [stringLen]byte
	for i := range stringLen / 8 {
		native.PutUint64(b[8*i:], atomic.LoadUint64(&s.text[s.current()/8+i]))
	}
	return string(b[:min(*s.half(), maxString)])
}

// current is where in s.text the value is: 0 or stringLen.
func (s *slot) current() int { return int(s.record[1]) - s.offset }
