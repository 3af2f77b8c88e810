package pmlogsummary

import (
	"math"
	"time"

	"github.com/pcp-go/pcp/examples/internal/lognum"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/difference"
)

// A stamp is a time in microseconds since 1970. PCP's tool ignores nanoseconds.
type stamp int64

func stampOf(t time.Time) stamp { return stamp(t.UnixMicro()) }

func (a stamp) time() time.Time { return time.UnixMicro(int64(a)) }

// since returns the time from b to a in seconds, 0 if a is before b.
func (a stamp) since(b stamp) float64 { return float64(max(a-b, 0)) / 1e6 }

// A series is the sums over the values of one instance, or of a metric without instances.
type series struct {
	last       stamp
	value      float64 // the last one
	stochastic float64 // the sum of the values, or rates
	average    float64 // the sum of the values times how long they were, or how much a counter has increased
	min, max   float64
	count      int
	marked     bool // a mark came after the last value
	primed     bool // the second pass has seen a value

	first        stamp
	minAt, maxAt stamp
	sum          float64 // of values that are no counters'
	marks        int     // how many
	bins         []int
}

// scan is the first pass, which adds up the values.
func (m *summary) scan() error { return m.pass(m.add) }

// markAll notes a mark.
func (m *summary) markAll(now stamp) {
	for _, known := range m.reader.Metrics() {
		n := known.State
		for i := range n.series {
			s := &n.series[i]
			if n.discrete() {
				s.extend(now)
			}
			s.marked = true
			s.marks++
		}
	}
}

// add adds the values of a record. The first value of a series starts it.
func (m *summary) add(n *metric, numbers []lognum.Number, now stamp) error {
	counter := n.counter()
	var since stamp     // of what
	var seconds float64 // to now, in the units of the metric
	for i := range numbers {
		x := &numbers[i]
		switch {
		case x.Err != 0:
			m.warn(n, "failed to extract value", x.Err)
			if x.Series < 0 {
				return &pcptool.ExitError{Status: 1, Message: "pmlogsummary: possibly corrupt archive?\n", Err: x.Err}
			}
			continue
		case int(x.Series) == len(n.series):
			n.begin(now, x.Value)
			continue
		case math.IsNaN(x.Value):
			continue
		}
		s := &n.series[x.Series]
		if !counter {
			s.addValue(now, x.Value)
			continue
		}
		if i == 0 || s.last != since {
			since, seconds = s.last, now.since(s.last)*n.scale
		}
		s.addCount(n, now, x.Value, seconds)
	}
	return nil
}

// begin starts a series with its first value.
func (n *metric) begin(now stamp, v float64) {
	s := series{first: now, last: now, value: v, minAt: now, maxAt: now}
	if !n.counter() {
		s.count, s.stochastic, s.sum, s.min, s.max = 1, v, v, v, v
	}
	n.series = append(n.series, s)
}

// increase returns the increase of a counter. ok is false if it was reset.
func (n *metric) increase(from, to float64) (v float64, ok bool) {
	v, code := n.kind.Increase(difference.Float(from), difference.Float(to))
	return v, code == 0
}

// addCount adds the rate since the last value of a counter. time is the time since that value.
func (s *series) addCount(n *metric, now stamp, v, time float64) {
	if time == 0 {
		return
	}
	increase, ok := n.increase(s.value, v)
	if s.marked || !ok {
		s.first += now - s.last
		s.marked = false
	} else {
		rate := increase / time
		s.stochastic += rate
		s.average += increase
		if s.count == 0 {
			s.min, s.max = rate, rate
		}
		s.limits(rate, now)
		s.count++
	}
	s.value, s.last = v, now
}

// limits records a value that is less than the minimum or greater than the maximum.
func (s *series) limits(v float64, now stamp) {
	if v < s.min {
		s.min, s.minAt = v, now
	}
	if v > s.max {
		s.max, s.maxAt = v, now
	}
}

// addValue adds a value of a metric that is not a counter.
func (s *series) addValue(now stamp, v float64) {
	s.sum += v
	s.stochastic += v
	s.limits(v, now)
	s.count++
	if s.marked {
		s.first += now - s.last
		s.marked = false
	} else {
		s.average += float64(s.value * now.since(s.last))
	}
	s.value, s.last = v, now
}

// extend extends the last value of a discrete metric up to a time.
func (s *series) extend(now stamp) {
	s.stochastic += s.value
	s.average += float64(s.value * now.since(s.last))
	s.last = now
	s.count++
}

// fillBins is the second pass, which counts the values of some metrics in ranges. As in PCP's tool,
// it restarts each series but keeps its sums, so that marks are added to them twice.
func (m *summary) fillBins(wanted []selection) error {
	for i := range wanted {
		known := m.reader.Metric(wanted[i].id)
		if known == nil || known.State.binned {
			continue
		}
		known.State.binned = true
		for i := range known.State.series {
			known.State.series[i].bins = make([]int, m.bins)
		}
	}
	return m.pass(func(n *metric, numbers []lognum.Number, now stamp) error {
		if !n.binned {
			return nil
		}
		for _, x := range numbers {
			if known := int(x.Series) < len(n.series); known && x.Err == 0 && !math.IsNaN(x.Value) {
				n.series[x.Series].addToBins(n, now, x.Value)
			}
		}
		return nil
	})
}

// addToBins counts a value.
func (s *series) addToBins(n *metric, now stamp, v float64) {
	first := !s.primed
	if first {
		s.primed, s.first, s.count = true, now, 0
	}
	switch {
	case !n.counter():
		s.bins[s.bin(v)]++
		s.count++
	case !first:
		time := now.since(s.last)
		if time == 0 {
			return
		}
		if increase, ok := n.increase(s.value, v); s.marked || !ok {
			s.first += now - s.last
			s.marked = false
		} else {
			s.bins[s.bin(increase/(time*n.scale))]++
			s.count++
		}
	}
	s.value, s.last = v, now
}

// bin returns the index of the range of a value.
func (s *series) bin(v float64) int {
	width := (s.max - s.min) / float64(len(s.bins))
	bound := s.min
	for i := range len(s.bins) - 1 {
		if bound <= v && v <= bound+width {
			return i
		}
		bound += width
	}
	return len(s.bins) - 1
}
