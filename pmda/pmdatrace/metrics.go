package pmdatrace

import (
	"context"

	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A tagMetric is a metric with one value for each tag of a kind.
type tagMetric struct {
	name, text, help string
	kind             tracewire.Kind
	typ              pdu.Type
	sem              pdu.Sem
	units            pdu.Units
	// put writes the value of a tag. A value of the window is written only if the tag has data
	// there.
	put func(w *pdu.ResultWriter, g *tag, at moment)
}

// A moment is the time of a fetch.
type moment struct {
	interval int64
	period   float64 // in seconds
}

var (
	perSecond = pdu.MakeUnits(0, -1, 1, 0, pdu.TimeSec.ScaleTime(), 0)
	secPer    = pdu.MakeUnits(0, 1, -1, 0, pdu.TimeSec.ScaleTime(), 0)
)

// tagMetrics returns the metrics of tags by item. The entries of other items are zero.
func tagMetrics(o *Options) []tagMetric {
	const counter, instant = pdu.SemCounter, pdu.SemInstant
	const u64, float, double = pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble
	return []tagMetric{
		0: {"trace.transact.count", "Transactions completed, by tag", "", tracewire.KindTransaction, u64, counter, pdu.UnitCount, putCount},
		1: {"trace.transact.rate", "Transactions completed per second in the period, by tag", ofPeriod,
			tracewire.KindTransaction, float, instant, perSecond, putRate},
		2: {"trace.transact.ave_time", "Average time of the transactions of the period, by tag", ofPeriod,
			tracewire.KindTransaction, float, instant, secPer, putAverage},
		3: {"trace.transact.min_time", "Shortest time of a transaction of the period, by tag", ofPeriod,
			tracewire.KindTransaction, float, instant, pdu.TimeSec, putMin},
		4: {"trace.transact.max_time", "Longest time of a transaction of the period, by tag", ofPeriod,
			tracewire.KindTransaction, float, instant, pdu.TimeSec, putMax},
		5: {"trace.transact.total_time", "Time of all transactions, by tag", "", tracewire.KindTransaction, double, counter, pdu.TimeSec, putTotal},
		6: {"trace.point.count", "Passes of points, by tag", "", tracewire.KindPoint, u64, counter, pdu.UnitCount, putCount},
		7: {"trace.point.rate", "Passes of points per second in the period, by tag", ofPeriod,
			tracewire.KindPoint, float, instant, perSecond, putRate},
		8: {"trace.observe.count", "Observations, by tag", "", tracewire.KindObservation, u64, counter, pdu.UnitCount, putCount},
		9: {"trace.observe.rate", "Observations per second in the period, by tag", ofPeriod,
			tracewire.KindObservation, float, instant, perSecond, putRate},
		10: {"trace.observe.value", "Value of the last observation, by tag", "",
			tracewire.KindObservation, double, instant, o.ObserveUnits, putValue},
		17: {"trace.counter.count", "Values of counters that came, by tag", "", tracewire.KindCounter, u64, counter, pdu.UnitCount, putCount},
		18: {"trace.counter.rate", "Values of counters that came per second in the period, by tag", ofPeriod,
			tracewire.KindCounter, float, instant, perSecond, putRate},
		19: {"trace.counter.value", "Last value of a counter, by tag", "",
			tracewire.KindCounter, double, counter, o.CounterUnits, putValue},
	}
}

const ofPeriod = `The period is trace.control.period long and ends with the last whole
trace.control.interval. A tag of which nothing came in it has no value.`

func putCount(w *pdu.ResultWriter, g *tag, _ moment) { w.Uint64(g.id, g.count) }
func putTotal(w *pdu.ResultWriter, g *tag, _ moment) { w.Float64(g.id, g.total) }
func putValue(w *pdu.ResultWriter, g *tag, _ moment) { w.Float64(g.id, g.value) }

func putRate(w *pdu.ResultWriter, g *tag, at moment) {
	if f := g.windowBefore(at.interval); f.count != 0 {
		w.Float32(g.id, float32(float64(f.count)/at.period))
	}
}

func putAverage(w *pdu.ResultWriter, g *tag, at moment) {
	if f := g.windowBefore(at.interval); f.count != 0 {
		w.Float32(g.id, float32(f.sum/float64(f.count)))
	}
}

func putMin(w *pdu.ResultWriter, g *tag, at moment) {
	if f := g.windowBefore(at.interval); f.count != 0 {
		w.Float32(g.id, float32(f.min))
	}
}

func putMax(w *pdu.ResultWriter, g *tag, at moment) {
	if f := g.windowBefore(at.interval); f.count != 0 {
		w.Float32(g.id, float32(f.max))
	}
}

// indoms are the texts of the instance domains, by serial.
var indoms = [numKinds]struct{ name, text, help string }{
	{"transaction", "Tags of transactions", "They are the instances of trace.transact."},
	{"point", "Tags of points", "They are the instances of trace.point."},
	{"observation", "Tags of observations", "They are the instances of trace.observe."},
	{"counter", "Tags of counters", "They are the instances of trace.counter."},
}

// register registers the metrics of an agent. It only describes the metrics of tags. Their values
// and instances come from the handler, because InDom refuses tags that are the same up to a space.
func (a *Agent) register(o *Options) {
	var domains [numKinds]*pmda.InDom
	for serial := range domains {
		d := indoms[serial]
		domains[serial] = &pmda.InDom{Serial: pmda.InDomSerial(serial), Name: d.name, Text: d.text, Help: d.help}
		a.PMDA.Attach(domains[serial])
	}
	for item, m := range a.metrics {
		if m.put == nil {
			continue
		}
		d := domains[m.kind-tracewire.KindTransaction]
		switch m.typ {
		case pdu.TypeU64:
			describe[uint64](a, item, m, d)
		case pdu.TypeFloat:
			describe[float32](a, item, m, d)
		case pdu.TypeDouble:
			describe[float64](a, item, m, d)
		}
	}
	a.registerControl(o)
}

func describe[T pdu.Scalar](a *Agent, item int, m tagMetric, d *pmda.InDom) {
	pmda.Register(a.PMDA, pmda.Metric[T]{
		Name: m.name, Text: m.text, Help: m.help, ID: pmda.Item(0, item), Sem: m.sem, Units: m.units, InDom: d,
		Values: func(context.Context, *pmda.Request, *pmda.Values[T]) error { return pmda.NoValue },
	})
}
