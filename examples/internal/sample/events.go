package sample

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Items of the metrics of events.
const (
	itemEventReset        = 126
	itemEventType         = 127
	itemParam32           = 128
	itemParamU32          = 129
	itemParam64           = 130
	itemParamU64          = 131
	itemParamFloat        = 132
	itemParamDouble       = 133
	itemParamString       = 134
	itemParamAggregate    = 135
	itemEventRecords      = 136
	itemEventNoInDom      = 137
	itemEventHighRes      = 139
	itemEventResetHighRes = 140
)

// The instances of the domain of events.
const (
	instFungus pdu.InstID = iota
	instBogus
)

// events are the event arrays of one resolution. As in PCP's agent there is one array of each kind.
// If a fetch makes it twice, both values are the second array.
type events struct {
	patterns int32   // fetches of the pattern; at -1 it has an unknown parameter
	texts    int32   // fetches of the text
	missed   int     // how many events the pattern misses
	counts   []int32 // patterns at each place in a fetch where a metric has it as its value
	pattern  pdu.EventBuilder
	text     pdu.EventBuilder
}

// registerEvents adds event arrays and the metrics of their parameters. These metrics have values
// only in events.
func (s *sample) registerEvents() {
	low, high := &s.dynamic.low, &s.dynamic.high
	low.missed = 7 // high says that it misses none, as that of PCP's agent
	high.pattern.HighRes, high.text.HighRes = true, true
	indom := s.attach(10, "event", []pdu.Instance{{ID: instFungus, Name: "fungus"}, {ID: instBogus, Name: "bogus"}})
	arrays := func(e *events) func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) {
		return func(_ context.Context, _ *pmda.Request, i pdu.Instance) ([]byte, error) {
			if i.ID == instFungus {
				return eventArray(&e.pattern)
			}
			return eventArray(&e.text)
		}
	}
	add(s, itemEventRecords, pmda.Metric[[]byte]{Name: "event.records", Type: pdu.TypeEvent, InDom: indom, Value: arrays(low)})
	add(s, itemEventHighRes, pmda.Metric[[]byte]{Name: "event.highres_records", Type: pdu.TypeHighResEvent, InDom: indom, Value: arrays(high)})
	add(s, itemEventNoInDom, pmda.Metric[[]byte]{Name: "event.no_indom_records", Type: pdu.TypeEvent, Value: arrays(low)})
	s.addEventReset(itemEventReset, "event.reset", low)
	s.addEventReset(itemEventResetHighRes, "event.reset_highres", high)

	add(s, itemEventType, pmda.Metric[int32]{Name: "event.type", Value: failing[int32](pmda.NoValue)})
	add(s, itemParam32, pmda.Metric[int32]{Name: "event.param_32", Value: failing[int32](pmda.NoValue)})
	add(s, itemParamU32, pmda.Metric[uint32]{Name: "event.param_u32", Value: failing[uint32](pmda.NoValue)})
	add(s, itemParam64, pmda.Metric[int64]{Name: "event.param_64", Value: failing[int64](pmda.NoValue)})
	add(s, itemParamU64, pmda.Metric[uint64]{Name: "event.param_u64", Value: failing[uint64](pmda.NoValue)})
	add(s, itemParamFloat, pmda.Metric[float32]{Name: "event.param_float", Value: failing[float32](pmda.NoValue)})
	add(s, itemParamDouble, pmda.Metric[float64]{Name: "event.param_double", Value: failing[float64](pmda.NoValue)})
	add(s, itemParamString, pmda.Metric[string]{Name: "event.param_string", Value: failing[string](pmda.NoValue)})
	add(s, itemParamAggregate, pmda.Metric[[]byte]{Name: "event.param_aggregate", Value: failing[[]byte](pmda.NoValue)})
}

// addEventReset adds the metric that sets the counts of fetches.
func (s *sample) addEventReset(item int, name string, e *events) {
	add(s, item, pmda.Metric[int32]{Name: name, Value: of(func() int32 {
		n := e.counts[0]
		e.counts = e.counts[1:]
		return n % 4
	})})
	storeWord(s, item, func(v int32) error {
		e.patterns, e.texts = v, v
		return nil
	})
}

// eventArray returns the value of a metric of events.
func eventArray(b *pdu.EventBuilder) ([]byte, error) {
	a, err := b.Atom()
	return a.Bytes(), err
}

// buildEvents makes the arrays for the values of a metric before the first value of a fetch is
// written.
func (s *sample) buildEvents(item int, r *pmda.Request) {
	e := &s.dynamic.low
	switch item {
	case itemEventReset:
		e.counts = append(e.counts, e.patterns)
		return
	case itemEventResetHighRes:
		s.dynamic.high.counts = append(s.dynamic.high.counts, s.dynamic.high.patterns)
		return
	case itemEventNoInDom:
		e.buildText(s.id)
		return
	case itemEventHighRes:
		e = &s.dynamic.high
	}
	rule := r.Profile.For(pdu.MakeInDom(s.agent.Domain, 10))
	if rule.Includes(instFungus) {
		e.buildPattern(s.id)
	}
	if rule.Includes(instBogus) {
		e.buildText(s.id)
	}
}

// buildText makes a record with the number of the fetch, and a second record every third time.
func (e *events) buildText(id func(item int) pdu.PMID) {
	now := time.Now()
	b := &e.text
	b.Reset()
	b.Begin(now, pdu.EventPoint)
	b.Param(id(itemParamString), pdu.String(fmt.Sprintf("fetch #%d", e.texts)))
	if e.texts%3 == 0 {
		b.Begin(now, pdu.EventPoint)
		b.Param(id(itemParamString), pdu.String("bingo!"))
	}
	e.texts++
}

// buildPattern makes one of four sets of records, one second apart.
func (e *events) buildPattern(id func(item int) pdu.PMID) {
	at := time.Now().Add(-10 * time.Second)
	b := &e.pattern
	b.Reset()
	begin := func(f pdu.EventFlags) {
		b.Begin(at, f)
		at = at.Add(time.Second)
	}
	number := func(n uint32) { b.Param(id(itemEventType), pdu.Uint32(n)) }
	switch {
	case e.patterns == -1:
		begin(pdu.EventPoint)
		number(1<<32 - 1)
		b.Param(pdu.MakePMID(0, 100, 200), pdu.Uint32(1<<32-1))
	case e.patterns%4 == 1:
		begin(pdu.EventPoint)
	case e.patterns%4 == 2:
		begin(pdu.EventPoint)
		number(1)
		begin(pdu.EventPoint)
		number(2)
		b.Param(id(itemParam64), pdu.Int64(-3))
	case e.patterns%4 == 3:
		begin(pdu.EventStart | pdu.EventID | pdu.EventParent)
		number(4)
		b.Param(id(itemParamU64), pdu.Uint64(5))
		b.Param(id(itemParamString), pdu.String("6"))
		begin(pdu.EventPoint)
		number(7)
		b.Param(id(itemParamDouble), pdu.Float64(8))
		b.Param(id(itemParamDouble), pdu.Float64(-9))
		begin(pdu.EventEnd)
		number(10)
		b.Param(id(itemParamU64), pdu.Uint64(11))
		b.Param(id(itemParamString), pdu.String("twelve"))
		b.Param(id(itemParamString), pdu.String("thirteen"))
		b.Param(id(itemParam32), pdu.Int32(-14))
		b.Param(id(itemParamU32), pdu.Uint32(15))
		b.Missed(at, e.missed)
		at = at.Add(time.Second)
		begin(pdu.EventPoint)
		number(16)
		b.Param(id(itemParamFloat), pdu.Float32(-17))
		b.Param(id(itemParamAggregate), pdu.Aggregate([]byte{0x01, 0x03, 0x07, 0x0f, 0x1f, 0x3f, 0x7f, 0xff}))
	}
	e.patterns++
}
