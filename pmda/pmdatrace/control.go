package pmdatrace

import (
	"context"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// The bits of trace.control.debug that have an effect. The metric keeps other bits.
const (
	logValues  = 1 << 0  // each value
	logClients = 1 << 11 // clients that connect and disconnect, and new tags
)

// The items of the metrics that can be stored.
const (
	itemReset = 15
	itemDebug = 16
)

// registerControl adds trace.control.
func (a *Agent) registerControl(o *Options) {
	constant := func(item int, name, text string, units pdu.Units, value func() uint32) pmda.Metric[uint32] {
		return pmda.Metric[uint32]{
			Name: "trace.control." + name, Text: text, ID: pmda.Item(0, item), Sem: pdu.SemDiscrete, Units: units,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return value(), nil },
		}
	}
	seconds := func(d time.Duration) func() uint32 { return func() uint32 { return uint32(d / time.Second) } }
	pmda.Register(a.PMDA, constant(11, "period", "Length of the period", pdu.TimeSec, seconds(o.Period)))
	pmda.Register(a.PMDA, constant(12, "interval", "How often the period moves on, in whole seconds", pdu.TimeSec,
		seconds(o.Period/time.Duration(max(o.Buckets, 1)))))
	pmda.Register(a.PMDA, constant(13, "buckets", "Number of intervals in the period", pdu.NoUnits,
		func() uint32 { return uint32(o.Buckets) }))
	pmda.Register(a.PMDA, constant(14, "port", "TCP port for applications, 0 if there is none", pdu.NoUnits, a.port.Load))
	reset := constant(itemReset, "reset", "A store of any value forgets all tags", pdu.NoUnits, func() uint32 { return 1 })
	reset.Help = "A tag that comes back has the same instance number as before."
	reset.Store = func(context.Context, *pmda.Request, pdu.Instance, uint32) error { a.reset(); return nil }
	pmda.Register(a.PMDA, reset)
	pmda.Register(a.PMDA, pmda.Metric[int32]{
		Name: "trace.control.debug", Text: "What else is logged: 2048 clients and new tags, 1 values",
		ID: pmda.Item(0, itemDebug), Sem: pdu.SemDiscrete,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return a.debug.Load(), nil },
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int32) error { a.setDebug(v); return nil },
	})
}

// reset removes all tags and begins a new period. See table.reset.
func (a *Agent) reset() {
	a.mu.Lock()
	a.table.reset(time.Now())
	a.mu.Unlock()
	a.limitedLog().Info("PMDA reset")
}

// setDebug stores a value into trace.control.debug.
func (a *Agent) setDebug(bits int32) {
	if old := a.debug.Swap(bits); old != bits {
		a.limitedLog().Info("trace.control.debug", slog.Int("old", int(old)), slog.Int("new", int(bits)))
	}
}

// debugs reports whether any of bits is set in trace.control.debug.
func (a *Agent) debugs(bits int32) bool { return a.debug.Load()&bits != 0 }
