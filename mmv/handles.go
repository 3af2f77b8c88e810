package mmv

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// A Counter is a number that only grows, until the program ends. Its methods are safe for concurrent use; an update
// is one atomic addition and never waits, unless the registry grows at the same moment. It neither takes a lock nor
// allocates.
//
// The metric has the type TypeU64 and the semantics pdu.SemCounter unless the Metric says otherwise. A counter of a
// smaller integer type wraps, as PCP's counters do. The counterpart of mmv_inc_atomvalue(3).
type Counter struct{ cell }

// Inc adds 1.
func (c *Counter) Inc() { c.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) {
	if c.typ != TypeU64 {
		c.addInt(n, float64(n))
		return
	}
	s := c.slot.Load()
	atomic.AddUint64(&s.record[0], n)
	if s.moved.Load() {
		c.carry(s)
	}
}

// Value is the sum of all additions so far, as far as the type of the metric holds it.
func (c *Counter) Value() uint64 { return uint64(c.typ.int(c.word())) }

// A FloatCounter is a Counter of fractions, such as seconds. The metric has the type TypeDouble unless the Metric
// says otherwise; an integer type gets the whole part of each addition.
type FloatCounter struct{ cell }

// Inc adds 1.
func (c *FloatCounter) Inc() { c.addFloat(1) }

// Add adds f. One that is negative or a NaN is ignored: tools take a counter that goes back for one that has wrapped,
// and a sum with a NaN never is a number again.
func (c *FloatCounter) Add(f float64) {
	if f >= 0 {
		c.addFloat(f)
	}
}

// Value is the sum of all additions so far.
func (c *FloatCounter) Value() float64 { return c.typ.float(c.word()) }

// A Gauge is an integer that goes up and down, such as a queue's length. Its methods are safe for concurrent use and
// cost as much as a Counter's.
//
// The metric has the type Type64 and the semantics pdu.SemInstant unless the Metric says otherwise. Set gives an
// integer type the nearest number that it has; additions wrap. A float type gets the nearest float.
type Gauge struct{ cell }

// Set makes n the value.
func (g *Gauge) Set(n int64) { g.set(g.typ.intBits(n)) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n int64) { g.addInt(uint64(n), float64(n)) }

// Inc adds 1.
func (g *Gauge) Inc() { g.Add(1) }

// Dec subtracts 1.
func (g *Gauge) Dec() { g.Add(-1) }

// Value is the value as the metric has it.
func (g *Gauge) Value() int64 { return g.typ.int(g.word()) }

// A FloatGauge is a Gauge of fractions. The metric has the type TypeDouble unless the Metric says otherwise. An
// integer type gets the nearest number that it has, cut towards 0, by Set; by Add, the whole part of each addition,
// and wraps.
type FloatGauge struct{ cell }

// Set makes f the value.
func (g *FloatGauge) Set(f float64) { g.set(g.typ.bits(f)) }

// Add adds f, which may be negative.
func (g *FloatGauge) Add(f float64) { g.addFloat(f) }

// Value is the value as the metric has it.
func (g *FloatGauge) Value() float64 { return g.typ.float(g.word()) }

// A Text is a string of up to MaxString bytes, such as a state or a version. Its methods are safe for concurrent use;
// Set takes a lock that only this Text has. A reader sees the whole of one text, unless two others are set while it
// reads. The counterpart of mmv_set_string(3).
//
// The metric has the type TypeString and the semantics pdu.SemDiscrete unless the Metric says otherwise.
type Text struct{ cell }

// Set makes text the value: up to its first NUL, and up to MaxString bytes. A longer one is cut between two
// characters.
func (t *Text) Set(text string) {
	text, _, _ = strings.Cut(text, "\x00")
	text = cutText(text, MaxString)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.slot.Load(); s != nil {
		s.setText(text)
	}
}

// cutText is the beginning of a text that has at most n bytes and whole characters.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i]
		}
	}
	return text[:n] // it is no UTF-8
}

// Value is the text that was set last, as it was cut.
func (t *Text) Value() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.slot.Load(); s != nil {
		return s.getText()
	}
	return ""
}
