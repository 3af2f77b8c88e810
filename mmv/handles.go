package mmv

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// A Counter is a number that only grows until the program ends. Its methods are safe for
// concurrent use. An update is one atomic addition, without a lock or an allocation. It waits only
// if the registry grows at the same moment.
//
// The metric has the type pdu.TypeU64 and the semantics pdu.SemCounter unless the Metric says
// otherwise. A counter of a smaller integer type wraps, as PCP's counters do. It is the
// counterpart of mmv_inc_atomvalue(3).
type Counter struct{ cell }

// Inc adds 1.
func (c *Counter) Inc() { c.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) {
	if c.typ != typeU64 {
		c.addInt(n, float64(n))
		return
	}
	s := c.slot.Load()
	atomic.AddUint64(&s.record[0], n)
	if s.moved.Load() {
		c.carry(s)
	}
}

// Value returns the sum of all additions as the metric's type holds it: a smaller integer type
// wraps.
func (c *Counter) Value() uint64 { return uint64(c.typ.int(c.word())) }

// A FloatCounter is a Counter of fractions, such as seconds. The metric has type pdu.TypeDouble
// unless the Metric says otherwise. With an integer type, each addition is truncated to an
// integer.
type FloatCounter struct{ cell }

// Inc adds 1.
func (c *FloatCounter) Inc() { c.addFloat(1) }

// Add adds f. It ignores a negative number, which tools would take for a counter that has wrapped,
// and a NaN, which would make the sum a NaN.
func (c *FloatCounter) Add(f float64) {
	if f >= 0 {
		c.addFloat(f)
	}
}

// Value returns the sum of all additions.
func (c *FloatCounter) Value() float64 { return c.typ.float(c.word()) }

// A Gauge is an integer that goes up and down, such as the length of a queue. Its methods are safe
// for concurrent use and cost as much as those of a Counter.
//
// The metric has the type pdu.Type64 and the semantics pdu.SemInstant unless the Metric says
// otherwise. With another integer type, Set stores the nearest number of the type and additions
// wrap. With a float type, Set stores the nearest float.
type Gauge struct{ cell }

// Set sets the value to n.
func (g *Gauge) Set(n int64) { g.set(g.typ.intBits(n)) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n int64) { g.addInt(uint64(n), float64(n)) }

// Inc adds 1.
func (g *Gauge) Inc() { g.Add(1) }

// Dec subtracts 1.
func (g *Gauge) Dec() { g.Add(-1) }

// Value returns the value that the metric has.
func (g *Gauge) Value() int64 { return g.typ.int(g.word()) }

// A FloatGauge is a Gauge of fractions. The metric has type pdu.TypeDouble unless the Metric says
// otherwise. With an integer type, Set truncates toward 0 and limits the number to the range of the
// type; Add adds the integer part and wraps.
type FloatGauge struct{ cell }

// Set sets the value to f.
func (g *FloatGauge) Set(f float64) { g.set(g.typ.bits(f)) }

// Add adds f, which may be negative.
func (g *FloatGauge) Add(f float64) { g.addFloat(f) }

// Value returns the value that the metric has.
func (g *FloatGauge) Value() float64 { return g.typ.float(g.word()) }

// A Text is a string of up to 254 bytes, such as a state or a version. Its methods are safe
// for concurrent use. Set takes a lock of this Text. A reader sees one complete text, unless two
// others are set during the read. It is the counterpart of mmv_set_string(3).
//
// The metric has the type pdu.TypeString and the semantics pdu.SemDiscrete unless the Metric says
// otherwise.
type Text struct{ cell }

// Set sets the text, up to its first NUL and up to 254 bytes. A longer text is cut between
// two characters.
func (t *Text) Set(text string) {
	text, _, _ = strings.Cut(text, "\x00")
	text = cutText(text, maxString)
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

// Value returns the last text, as Set has cut it.
func (t *Text) Value() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.slot.Load(); s != nil {
		return s.getText()
	}
	return ""
}
