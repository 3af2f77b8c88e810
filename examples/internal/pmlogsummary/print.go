package pmlogsummary

import (
	"fmt"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// printLabel prints the label with the times of the time window.
func (m *summary) printLabel() {
	l := m.label
	l.Start = m.from.time()
	b := logtext.AppendLabelHead(nil, &l, &m.clock, "  ")
	b = append(b, "\n  ending     "...)
	if m.endless {
		b = append(b, "UNKNOWN"...)
	} else {
		b = m.clock.AppendDate(b, m.until.time())
	}
	m.out.Write(append(b, '\n'))
}

// print prints the statistics of metrics in their order.
func (m *summary) print(wanted []selection) {
	if m.heading {
		m.printHeading()
	}
	for i := range wanted {
		known := m.reader.Metric(wanted[i].id)
		if known == nil || known.State.printed {
			continue
		}
		known.State.printed = true
		m.printMetric(&wanted[i], known.State, known.Insts)
	}
}

func (m *summary) printHeading() {
	b := []byte("metric")
	for _, column := range [...]struct {
		show bool
		name string
	}{
		{m.stochastic, "stochastic_average"}, {m.average, "time_average"}, {m.sum, "sum"},
		{m.minimum, "minimum"}, {m.minimumTime, "minimum_time"},
		{m.maximum, "maximum"}, {m.maximumTime, "maximum_time"},
		{m.count, "count"}, {m.bins > 0, "bins"}, {true, "units"},
	} {
		if column.show {
			b = append(append(b, m.delimiter), column.name...)
		}
	}
	m.out.Write(append(b, '\n'))
}

// printMetric prints the lines of a metric.
func (m *summary) printMetric(sel *selection, n *metric, insts []pdu.InstID) {
	units := rateUnits(n, m.sum)
	names := m.instanceNames(n.desc.InDom)
	for i := range n.series {
		s, inst := &n.series[i], insts[i]
		name, known := names.Name(inst)
		if !sel.selects(name) {
			continue
		}
		if n.discrete() {
			s.extend(m.until)
		}
		b := m.buf[:0]
		if n.counter() && s.last.since(s.first)/m.until.since(m.from) <= 0.1 {
			b = append(b, '*')
		}
		b = append(append(b, terminal.EscapeName(sel.name)...), m.delimiter)
		switch {
		case n.desc.InDom == pdu.NoInDom:
		case known:
			b = fmt.Appendf(b, "[\"%s\"]", terminal.EscapeName(name))
		default:
			b = fmt.Appendf(b, "[%d]", uint32(inst))
		}
		if n.counter() && s.last.since(s.first) <= 0 {
			b = append(append(b, m.delimiter), "- insufficient archive data.\n"...)
		} else {
			b = m.appendStats(b, n, s)
			b = append(append(append(b, m.delimiter), units...), '\n')
		}
		m.out.Write(b)
		m.buf = b
	}
}

// appendStats appends the statistics of a series.
func (m *summary) appendStats(b []byte, n *metric, s *series) []byte {
	span := s.last.since(s.first)
	if span == 0 && !n.counter() {
		span = 1
	}
	number := func(show bool, v float64) {
		if show {
			b = cnum.AppendF(append(b, m.delimiter), v, m.precision)
		}
	}
	at := func(show bool, t stamp) {
		if show {
			b = m.appendTime(append(b, m.delimiter), t)
		}
	}
	number(m.stochastic, s.stochastic/float64(s.count))
	number(m.average, s.average/(span*n.scaleOfAverage()))
	if n.counter() {
		number(m.sum, s.average)
	} else {
		number(m.sum, s.sum)
	}
	number(m.minimum, s.min)
	at(m.minimumTime, s.minAt)
	number(m.maximum, s.max)
	at(m.maximumTime, s.maxAt)
	if m.count {
		count := s.count
		if n.discrete() {
			count -= s.marks + 1
		}
		b = strconv.AppendUint(append(b, m.delimiter), uint64(uint32(count)), 10)
	}
	return m.appendBins(b, s)
}

// scaleOfAverage returns the scale of the time average, which is that of counters.
func (n *metric) scaleOfAverage() float64 {
	if n.counter() {
		return n.scale
	}
	return 1
}

// appendBins appends the ranges and the number of values in each.
func (m *summary) appendBins(b []byte, s *series) []byte {
	for i, count := range s.bins {
		b = append(append(b, m.delimiter), '[')
		if i == 0 || s.min != s.max {
			width := (s.max - s.min) / float64(len(s.bins))
			b = cnum.AppendF(append(b, "<="...), s.min+float64(width*float64(i+1)), m.precision)
		}
		b = append(append(b, ']'), m.delimiter)
		b = strconv.AppendInt(b, int64(count), 10)
	}
	return b
}

// appendTime appends a time, with the date if the time window is longer than a day.
func (m *summary) appendTime(b []byte, t stamp) []byte {
	const day = float64(24 * time.Hour / time.Second)
	if m.until.since(m.from) <= day {
		return m.clock.Append(b, t.time())
	}
	return append(m.clock.AppendDate(append(b, '\''), t.time()), '\'')
}

// rateUnits returns the units of a metric. For a counter they are those of its rate.
func rateUnits(n *metric, sum bool) string {
	u := n.desc.Units
	if n.counter() && !sum {
		const second = 3
		scale := u.ScaleTime()
		if u.DimTime() == 0 {
			scale = second
		}
		u = pdu.MakeUnits(u.DimSpace(), u.DimTime()-1, u.DimCount(), u.ScaleSpace(), scale, u.ScaleCount())
	}
	if text := u.String(); text != "" {
		return text
	}
	return "none"
}
