package logcheck

import (
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/lognum"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// A metric is what has been seen of a metric.
type metric struct {
	counter bool            // of which wraps are reported
	kind    difference.Kind // of a counter
	form    int32           // of the first values
	formed  bool            // there were some
	series  []last          // as the reader has them
}

// A last is the last value of a series.
type last struct {
	value float64
	at    time.Time
	known bool // since the last mark
}

// A scanner reads the records of the volumes.
type scanner struct {
	*checker
	reader  *lognum.Reader[*metric]
	cursor  *archive.Cursor
	prior   time.Time // of the record before
	volume  int       // where the first record is
	records int
	marks   int
	names   map[pdu.InDom]pcptool.InstanceNames
}

// checkValues is pass 3. It checks times and values.
func (k *checker) checkValues() error {
	k.trace("%s: start pass3\n", k.base)
	s := &scanner{checker: k, reader: lognum.NewReader[*metric](k.set.Metadata()), cursor: k.set.Cursor(), volume: k.label.Volume,
		names: map[pdu.InDom]pcptool.InstanceNames{}}
	if !k.span.Start.Equal(k.label.Start) {
		s.prior = k.span.Start
	}
	err := s.seek()
	if err == nil {
		err = s.run()
	}
	if _, ok := errors.AsType[*pcptool.ExitError](err); ok {
		return err
	}
	if err != nil { // which does not matter for the exit status
		k.printf("[after %s]: pmFetch: error: %v\n", k.timeText(s.prior), pcptool.Cause(err))
	}
	if s.Verbose > 0 && s.records > 0 {
		k.printf("Processed %d pmResult records\n", s.records)
		if s.marks > 0 {
			k.printf("Processed %d <mark> records\n", s.marks)
		}
	}
	return nil
}

// seek moves to the first record that PCP's tool reads: that of the index entry nearest to a time,
// or the start. If the nearest entry is before the time, one more record is read, except at the
// last entry. An entry that leads into a record is an error.
func (s *scanner) seek() error {
	t, index := s.prior, s.arch.Index()
	if t.IsZero() || len(index) == 0 || s.badIndex {
		return nil
	}
	at := 0
	for i, e := range index {
		if e.Time.Sub(t).Abs() <= t.Sub(index[at].Time).Abs() {
			at = i
		}
		if !e.Time.Before(t) {
			break
		}
	}
	s.volume = index[at].Volume
	for s.cursor.Next() == nil { // an error is met again
		r := s.cursor.Record()
		if r.File.Volume() != index[at].Volume || r.Offset+int64(len(r.Raw)) <= index[at].Data {
			continue
		}
		if r.Offset != index[at].Data {
			return pdu.ErrLogRec
		}
		_ = s.cursor.Prev()
		break
	}
	if index[at].Time.Before(t) && at+1 < len(index) && s.cursor.Prev() == nil {
		s.volume = s.cursor.Record().File.Volume()
	}
	return nil
}

// run checks the records of the time window.
func (s *scanner) run() error {
	for {
		if err := s.cursor.Next(); err != nil {
			if errors.Is(err, pdu.ErrEOL) {
				return nil
			}
			return err
		}
		sets, err := s.reader.Read(s.cursor)
		if err != nil {
			return err
		}
		s.records++
		now := s.cursor.Time()
		s.checkTime(now)
		if now.After(s.span.End) {
			return nil
		}
		if s.cursor.Mark() {
			s.marks++
			s.forgetValues()
		}
		for i := range sets {
			if err := s.checkSet(&sets[i], now); err != nil {
				return err
			}
		}
	}
}

// place returns the volume and the time of the record. As in PCP's tool, the volume is that of the
// first record.
func (s *scanner) place() string {
	return fmt.Sprintf("%s.%d:[%s]", s.base, s.volume, s.timeText(s.cursor.Time()))
}

// checkTime checks that times ascend from the time of the label.
func (s *scanner) checkTime(now time.Time) {
	if now.Before(s.label.Start) {
		s.printf("%s: timestamp before label timestamp: %s\n", s.place(), s.timeText(s.label.Start))
	}
	if now.Before(s.prior) {
		s.printf("%s: timestamp went backwards, prior timestamp: %s\n", s.place(), s.timeText(s.prior))
	}
	s.prior = now
}

// forgetValues discards all values at a mark.
func (s *scanner) forgetValues() {
	for _, m := range s.reader.Metrics() {
		for i := range m.State.series {
			m.State.series[i].known = false
		}
	}
}

// newMetric returns the state for a metric whose first values are set.
func (s *scanner) newMetric(set *lognum.Set[*metric]) *metric {
	m := &metric{}
	if !set.Known {
		s.printf("%s %s: pmLookupDesc failed: %v\n", s.place(), s.allNames(set.ID), pdu.ErrPMIDLog)
	}
	_, integer := wrapKinds[set.Desc.Type]
	m.counter = integer && set.Desc.Sem == pdu.SemCounter && !s.NoWraps
	m.kind = difference.KindOf(set.Desc.Type, true, false).OfFloats()
	return m
}

// decreased reports whether a counter was reset or has wrapped.
func (m *metric) decreased(from, to float64) bool {
	_, code := m.kind.Increase(difference.Float(from), difference.Float(to))
	return code != 0
}

// checkSet checks the values of a metric.
func (s *scanner) checkSet(set *lognum.Set[*metric], now time.Time) error {
	m := set.State
	if m == nil {
		m = s.newMetric(set)
		set.State = m
	}
	if set.Len == 0 || !set.Numeric {
		return nil
	}
	if !m.formed {
		m.form, m.formed = set.Form, true
	}
	if set.Form != m.form {
		s.printf("%s %s: encoding botch valfmt=%d not %d as expected\n", s.place(), s.allNames(set.ID), set.Form, m.form)
		return nil
	}
	for i := range set.Numbers {
		x := &set.Numbers[i]
		switch {
		case x.Err != 0:
			s.printf("%s %s: pmExtractValue failed: %v\n", s.place(), s.allNames(set.ID), x.Err)
			if x.Series < 0 {
				s.printf("pmlogcheck: possibly corrupt archive?\n")
				return failed
			}
			continue
		case int(x.Series) >= len(m.series):
			m.series = append(m.series, make([]last, int(x.Series)+1-len(m.series))...)
		}
		v := &m.series[x.Series]
		if v.known && !now.After(v.at) {
			continue // of the same time, or from after the clock was set back
		}
		if v.known && m.counter && m.decreased(v.value, x.Value) {
			s.reportWrap(set.Metric, v, int(x.Series), now, x.Value)
		}
		*v = last{x.Value, now, true}
	}
	return nil
}

// wrapKinds are the words for wrapped integers.
var wrapKinds = map[pdu.Type]string{
	pdu.Type32: "signed 32-bit", pdu.TypeU32: "unsigned 32-bit", pdu.Type64: "signed 64-bit", pdu.TypeU64: "unsigned 64-bit",
}

// reportWrap reports that a counter has decreased.
func (s *scanner) reportWrap(m *lognum.Metric[*metric], v *last, series int, now time.Time, value float64) {
	inst := ""
	if m.Desc.InDom != pdu.NoInDom {
		inst = "[" + s.instanceName(m.Desc.InDom, m.Insts[series]) + "]"
	}
	s.printf("%s: %s%s: %s wrap\n\tvalue %.0f at %s\n\tvalue %.0f at %s\n", s.place(), s.allNames(m.ID), inst, wrapKinds[m.Desc.Type],
		v.value, s.timeText(v.at), value, s.timeText(now))
}

// instanceName returns the latest name of an instance.
func (s *scanner) instanceName(d pdu.InDom, inst pdu.InstID) string {
	names, ok := s.names[d]
	if !ok {
		if in := s.set.Metadata().InDom(d); in != nil {
			names = pcptool.NewInstanceNames(in.All())
		}
		s.names[d] = names
	}
	if name, ok := names.Name(inst); ok {
		return terminal.EscapeName(name)
	}
	return itoa(int64(uint32(inst)))
}
