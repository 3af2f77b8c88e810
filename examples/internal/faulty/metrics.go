package faulty

import (
	"encoding/binary"
	"math"

	"github.com/pcp-go/pcp/pdu"
)

func metrics() []metric {
	return append(append([]metric{
		{name: "half", desc: desc(pdu.TypeU32, indom(halfKnown)), values: uints(0, 1, 2, 7, 8), labels: `{"level":"item","item":null}`},
		{name: "named.twice", desc: single(pdu.TypeU32), values: uints(pdu.NoInst), text: "one line", help: "two\nlines"},
		{name: "refused", desc: desc(pdu.TypeU32, indom(refused)), values: uints(0, 3), text: "one line alone"},
		{name: "empty", desc: desc(pdu.TypeU32, indom(empty)), values: uints(0, 3), text: "-", help: "-"},
		{name: "newlines", desc: desc(pdu.TypeU32, indom(halfKnown)), values: uints(7), text: "with a\nnewline\n", help: "at its\n\nend\n\n\n"},
		{name: "none", desc: desc(pdu.TypeU32, indom(halfKnown)), values: uints(), text: "-", help: "text"},
		{name: "single.two", desc: single(pdu.TypeU32), values: uints(3, 4)},
		{name: "single.inst", desc: single(pdu.TypeU32), values: uints(3)},
		{name: "indom.null", desc: desc(pdu.TypeU32, indom(halfKnown)), values: uints(pdu.NoInst)},
		{name: "indom.one", desc: desc(pdu.TypeU32, indom(halfKnown)), values: uints(1)},
		{name: "needsprofile.half", desc: desc(pdu.TypeU32, indom(halfKnown)), values: uints(0, 2), needsProfile: true},
		{name: "needsprofile.refused", desc: desc(pdu.TypeU32, indom(refused)), values: uints(0), needsProfile: true},
		{name: "needsprofile.empty", desc: desc(pdu.TypeU32, indom(empty)), values: uints(0), needsProfile: true},
		{name: "needsprofile.single", desc: single(pdu.TypeU32), values: uints(pdu.NoInst), needsProfile: true},
		{name: "needsprofile.never", desc: desc(pdu.TypeU32, indom(stored)), values: fails(pdu.ErrProfile)},
		{name: "fails.again", desc: single(pdu.TypeU32), values: fails(pdu.ErrAgain)},
		{name: "fails.errno", desc: single(pdu.TypeU32), values: fails(-13)},
		{name: "type.unsupported", desc: single(pdu.TypeNoSupport), values: fails(pdu.ErrAppVersion)},
		{name: "type.valued", desc: single(pdu.TypeNoSupport), values: uints(pdu.NoInst)},
		{name: "type.wrong", desc: single(99), values: uints(pdu.NoInst)},
		{name: "type.static", desc: single(pdu.TypeAggregateStatic), values: value(pdu.Aggregate([]byte{1, 2, 3}))},
		{name: "type.double", desc: single(pdu.TypeU32), values: value(pdu.Float64(math.Pi))},
		{name: "type.string", desc: single(pdu.TypeString), values: uints(pdu.NoInst)},
		{name: "type.text", desc: single(pdu.TypeDouble), values: value(pdu.String("text\nof lines"))},
		{name: "desc.odd", desc: pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: 77,
			Units: pdu.MakeUnits(-2, 3, 1, 4, 2, 6)}, values: value(pdu.Float64(math.Inf(-1)))},
		{name: "desc.discrete", desc: pdu.Desc{Type: pdu.TypeFloat, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete, Units: pdu.SpaceKByte},
			values: value(pdu.Float32(0.1))},
		{name: "desc.counter", desc: pdu.Desc{Type: pdu.Type64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.TimeMSec},
			values: value(pdu.Int64(math.MinInt64))},
		{name: "labels.over", desc: single(pdu.TypeU32), values: uints(pdu.NoInst), labels: `{"agent":"other","list":"none","notes":"mine"}`},
		{name: "labels.deep", desc: single(pdu.TypeU32), values: uints(pdu.NoInst), labels: `{"deep":{"x":"\"\u00e9","y":true},"z":1.50e3}`},
	}, eventMetrics()...), storeMetrics()...)
}

// storeMetrics returns metrics that keep stored values.
func storeMetrics() []metric {
	return []metric{
		{name: "store.u32", desc: single(pdu.TypeU32)},
		{name: "store.double", desc: single(pdu.TypeDouble)},
		{name: "store.string", desc: single(pdu.TypeString)},
		{name: "store.some", desc: desc(pdu.TypeU32, indom(stored))},
		{name: "store.halves", desc: desc(pdu.TypeU32, indom(stored))},  // keeps half of what is stored
		{name: "store.forgets", desc: desc(pdu.TypeU32, indom(stored))}, // forgets instance 0 when 1 is stored
		{name: "store.none.u32", desc: single(pdu.TypeU32)},
		{name: "store.none.string", desc: single(pdu.TypeString)},
		{name: "store.none.some", desc: desc(pdu.TypeString, indom(stored))},
		{name: "store.none.aggregate", desc: single(pdu.TypeAggregate)},
		{name: "store.none.type", desc: single(pdu.TypeNoSupport)},
	}
}

func eventMetrics() []metric {
	events := func(highRes bool, fill func(b *pdu.EventBuilder)) func(w *pdu.ResultWriter) {
		return func(w *pdu.ResultWriter) {
			b := pdu.EventBuilder{HighRes: highRes}
			fill(&b)
			a, err := b.Atom()
			if err != nil {
				panic(err) // of no array that is made here
			}
			w.Atom(pdu.NoInst, a)
		}
	}
	some := func(b *pdu.EventBuilder) {
		b.Begin(at(0), 0)
		b.Begin(at(1), pdu.EventStart|pdu.EventID|pdu.EventParent)
		b.Param(pdu.MakePMID(domain, 0, 1), pdu.Uint32(1))
		b.Param(pdu.MakePMID(domain, 0, 1), pdu.String("not its type"))
		b.Param(pdu.MakePMID(domain, 0, 999), pdu.Uint32(2))
		b.Param(pdu.MakePMID(244, 0, 0), pdu.Float64(2.5))
		b.Begin(at(2), 0x100|pdu.EventEnd)
		b.Param(pdu.MakePMID(domain, 0, 0), pdu.Aggregate([]byte("abc")))
		b.Begin(at(3), pdu.EventPoint)
	}
	lost := func(b *pdu.EventBuilder) {
		b.Begin(at(0), pdu.EventPoint)
		b.Param(pdu.MakePMID(domain, 0, 1), pdu.Float32(2.5))
		b.Missed(at(1), 7)
		b.Begin(at(1), pdu.EventPoint)
	}
	lostBefore := func(b *pdu.EventBuilder) {
		b.Missed(at(0), 7)
		b.Begin(at(1), pdu.EventPoint)
		b.Begin(at(2), pdu.EventPoint)
	}
	word := binary.BigEndian.AppendUint32
	return []metric{
		{name: "event.some", desc: single(pdu.TypeEvent), values: events(false, some)},
		{name: "event.highres", desc: single(pdu.TypeHighResEvent), values: events(true, some)},
		{name: "event.lost", desc: single(pdu.TypeEvent), values: events(false, lost)},
		{name: "event.lostbefore", desc: single(pdu.TypeEvent), values: events(false, lostBefore)},
		{name: "event.none", desc: single(pdu.TypeEvent), values: events(false, func(*pdu.EventBuilder) {})},
		{name: "broken.not", desc: single(pdu.TypeEvent), values: uints(pdu.NoInst)},
		{name: "broken.text", desc: single(pdu.TypeHighResEvent), values: value(pdu.String("text"))},
		{name: "broken.short", desc: single(pdu.TypeEvent), values: func(w *pdu.ResultWriter) {
			w.Bytes(pdu.TypeEvent, pdu.NoInst, word(nil, 3))
		}},
		{name: "broken.both", desc: single(pdu.TypeEvent), values: func(w *pdu.ResultWriter) {
			// Missed and a point.
			w.Bytes(pdu.TypeEvent, pdu.NoInst, word(word(word(word(word(nil, 1), 1e9), 5), 0x80000001), 3))
		}},
		{name: "event.insts", desc: desc(pdu.TypeEvent, indom(halfKnown)), values: func(w *pdu.ResultWriter) {
			for inst := range pdu.InstID(3) {
				var b pdu.EventBuilder
				b.Begin(at(int(inst)), pdu.EventPoint)
				b.Param(pdu.MakePMID(domain, 0, 1), pdu.Uint32(uint32(inst)))
				if a, err := b.Atom(); err == nil {
					w.Atom(inst, a)
				}
			}
		}},
	}
}
