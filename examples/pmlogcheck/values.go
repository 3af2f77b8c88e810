package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A metric is what has been seen of a metric.
type metric struct {
	id       pdu.PMID
	desc     pdu.Desc
	unknown  bool // there is no descriptor
	numeric  bool
	counter  bool   // of which wraps are reported
	form     uint32 // of the first values
	seen     bool   // there is one
	series   []*series
	byInst   map[pdu.InstID]*series
	follower *metric // came after this one in the last record
}

// A series is the last value of an instance.
type series struct {
	inst  pdu.InstID
	index int // among those of the metric
	value float64
	at    time.Time
	known bool // since the last mark
}

// A scan goes over the records of the volumes.
type scan struct {
	*checker
	metrics map[pdu.PMID]*metric
	cursor  *archive.Cursor
	prior   time.Time // of the record before
	volume  int       // where the first record is
	records int
	marks   int
}

// checkValues is pass 3: it checks times and values.
func (k *checker) checkValues() error {
	k.trace("%s: start pass3\n", k.base)
	s := &scan{checker: k, metrics: map[pdu.PMID]*metric{}, cursor: k.set.Cursor(), volume: k.label.Volume}
	if k.options.window.Start != "" {
		s.prior = k.span.Start
	}
	err := s.seek()
	if err == nil {
		err = s.run()
	}
	if _, ok := errors.AsType[*tool.ExitError](err); ok {
		return err
	}
	if err != nil { // which does not matter for the exit status
		k.printf("[after %s]: pmFetch: error: %v\n", k.timeText(s.prior), tool.Cause(err))
	}
	if s.verbose > 0 && s.records > 0 {
		k.printf("Processed %d pmResult records\n", s.records)
		if s.marks > 0 {
			k.printf("Processed %d <mark> records\n", s.marks)
		}
	}
	return nil
}

// seek moves to where PCP's tool begins to read: where the entry of the index leads that is nearest to a time, or else to the
// start. The entry before the time leads to one record more, unless it is the last one. One that leads into a record is an
// error.
func (s *scan) seek() error {
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

// run goes over the records of the time window.
func (s *scan) run() error {
	for {
		if err := s.cursor.Next(); err != nil {
			if errors.Is(err, pdu.ErrEOL) {
				return nil
			}
			return err
		}
		r, err := s.cursor.Result()
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
			s.forget()
		} else if err := s.checkRecord(r, now); err != nil {
			return err
		}
	}
}

// place is the volume and time of the record. As in PCP's tool, the volume is that of the first record.
func (s *scan) place() string {
	return fmt.Sprintf("%s.%d:[%s]", s.base, s.volume, s.timeText(s.cursor.Time()))
}

// checkTime checks that times ascend from that of the label.
func (s *scan) checkTime(now time.Time) {
	if now.Before(s.label.Start) {
		s.printf("%s: timestamp before label timestamp: %s\n", s.place(), s.timeText(s.label.Start))
	}
	if now.Before(s.prior) {
		s.printf("%s: timestamp went backwards, prior timestamp: %s\n", s.place(), s.timeText(s.prior))
	}
	s.prior = now
}

// forget forgets all values, at a mark.
func (s *scan) forget() {
	for _, m := range s.metrics {
		for _, v := range m.series {
			v.known = false
		}
	}
}

// metric returns the metric of an identifier.
func (s *scan) metric(id pdu.PMID) *metric {
	if m := s.metrics[id]; m != nil {
		return m
	}
	m := &metric{id: id, byInst: map[pdu.InstID]*series{}}
	s.metrics[id] = m
	desc, ok := s.set.Metadata().Desc(id)
	if !ok {
		m.unknown = true
		s.printf("%s %s: pmLookupDesc failed: %v\n", s.place(), s.allNames(id), pdu.ErrPMIDLog)
		return m
	}
	m.desc = desc
	integer := desc.Type >= pdu.Type32 && desc.Type <= pdu.TypeU64
	m.numeric = integer || desc.Type == pdu.TypeFloat || desc.Type == pdu.TypeDouble
	m.counter = integer && desc.Sem == pdu.SemCounter && !s.noWraps
	return m
}

// checkRecord checks the values of a record. What comes in the order of the record before is found without a map.
func (s *scan) checkRecord(r *pdu.Result, now time.Time) error {
	raw := s.cursor.Record().Raw
	at := 16 // length, time of version 2, number of sets
	if s.label.Version > 2 {
		at = 20
	}
	var last *metric
	for _, set := range r.All() {
		at += 8 // PMID, number of values
		form := at
		if n := set.Len(); n > 0 {
			at += 4 + 8*n
		}
		var m *metric
		if last != nil && last.follower != nil && last.follower.id == set.PMID {
			m = last.follower
		} else {
			m = s.metric(set.PMID)
			if last != nil {
				last.follower = m
			}
		}
		last = m
		if m.unknown || set.Len() == 0 {
			continue
		}
		if !s.checkForm(m, binary.BigEndian.Uint32(raw[form:])) || !m.numeric {
			continue
		}
		if err := s.checkSet(m, set, now); err != nil {
			return err
		}
	}
	return nil
}

// checkForm checks that values have the form of those before: in place, or in a block.
func (s *scan) checkForm(m *metric, form uint32) bool {
	if !m.seen {
		m.form, m.seen = form, true
	}
	if m.form == form {
		return true
	}
	s.printf("%s %s: encoding botch valfmt=%d not %d as expected\n", s.place(), s.allNames(m.id), int32(form), int32(m.form))
	return false
}

// checkSet checks the values of a metric.
func (s *scan) checkSet(m *metric, set pdu.ValueSet, now time.Time) error {
	next := 0
	for inst, a := range set.All(m.desc.Type) {
		if m.desc.InDom == pdu.NoInDom {
			inst = pdu.NoInst // whatever number there is
		}
		var v *series
		if next < len(m.series) && m.series[next].inst == inst {
			v = m.series[next]
		} else if v = m.byInst[inst]; v != nil {
			next = v.index
		}
		next++
		f, err := pdu.As[float64](a)
		if a.Type != m.desc.Type {
			err = pdu.ErrConv
		}
		if err != nil {
			s.printf("%s %s: pmExtractValue failed: %v\n", s.place(), s.allNames(m.id), tool.Cause(err))
			if v == nil {
				s.printf("pmlogcheck: possibly corrupt archive?\n")
				return failed
			}
			continue
		}
		if v == nil {
			v = &series{inst: inst, index: len(m.series), value: f, at: now, known: true}
			m.series = append(m.series, v)
			m.byInst[inst] = v
			continue
		}
		if now.Equal(v.at) {
			continue
		}
		if v.known && m.counter && f < v.value {
			s.reportWrap(m, v, now, f)
		}
		v.value, v.at, v.known = f, now, true
	}
	return nil
}

// wrapKinds are the words for integers that have passed their greatest value.
var wrapKinds = map[pdu.Type]string{
	pdu.Type32: "signed 32-bit", pdu.TypeU32: "unsigned 32-bit", pdu.Type64: "signed 64-bit", pdu.TypeU64: "unsigned 64-bit",
}

// reportWrap reports that a counter has decreased.
func (s *scan) reportWrap(m *metric, v *series, now time.Time, value float64) {
	inst := ""
	if m.desc.InDom != pdu.NoInDom {
		inst = "[" + s.instanceName(m.desc.InDom, v.inst) + "]"
	}
	s.printf("%s: %s%s: %s wrap\n\tvalue %.0f at %s\n\tvalue %.0f at %s\n", s.place(), s.allNames(m.id), inst, wrapKinds[m.desc.Type],
		v.value, s.timeText(v.at), value, s.timeText(now))
}

// instanceName is the latest name of an instance.
func (s *scan) instanceName(d pdu.InDom, inst pdu.InstID) string {
	if in := s.set.Metadata().InDom(d); in != nil {
		for _, i := range in.All() {
			if i.ID == inst {
				return tool.EscapeName(i.Name)
			}
		}
	}
	return itoa(int64(uint32(inst)))
}
