package pmcdagent

import (
	"context"
	"math"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
)

// addControl registers pmcd.control.
func (p *pmcd) addControl() {
	p.addDebug()
	p.addTimeout()
	p.addRegister()
	t := p.Trace
	p.addSwitch("pmcd.control.traceconn", 9, eventtrace.Conns, "Switch for tracing connections",
		`1 while the coming and going of clients and agents, and the failures of
their connections, are noted in the event trace; 0 otherwise.`)
	p.addSwitch("pmcd.control.tracepdu", 10, eventtrace.PDUs, "Switch for tracing PDUs",
		`1 while every PDU that is sent or received is noted in the event trace;
0 otherwise.`)
	p.addSwitch("pmcd.control.tracenobuf", 14, eventtrace.Unbuffered, "Switch for writing traced events at once",
		`1 while an event that is traced is written to the log at once; 0 while
events are kept until the trace is dumped.`)
	p.addTraceBufs()
	p.addAction("pmcd.control.dumptrace", 12, "Dump the event trace",
		`Any value stored here writes the event trace to the log and empties it. The
value is always 0.`, func() { t.Dump(p.Logger) })
	p.addAction("pmcd.control.dumpconn", 13, "List the clients in the log",
		`Any value stored here writes a table of the clients to the log. The value is
always 0.`, p.Collector.LogClients)
	p.addAction("pmcd.control.sighup", 15, "Reset the collector",
		`Any value stored here does what SIGHUP does to a collector: agents that have
died are started again. The value is always 0.`, p.Collector.Reset)
}

// control returns the Metric of a 32-bit control.
func control(name string, item int, text, help string, value func() int32) pmda.Metric[int32] {
	return pmda.Metric[int32]{
		Name: name, ID: pmda.Item(0, item), Sem: pdu.SemDiscrete,
		Text: text, Help: help, Value: always(value),
	}
}

func (p *pmcd) addDebug() {
	register(p, control("pmcd.control.debug", 0, "Bits that switch diagnostics on",
		`With 1, every PDU that is sent or received is written to the log. Other bits
have no effect.`, p.debug.Load))
	p.storable(0, 0, setter{set: setEach(func(_ pdu.InstID, v int32) error {
		p.debug.Store(v)
		p.Collector.SetDebug(v)
		return nil
	})})
}

func (p *pmcd) addTimeout() {
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.control.timeout", ID: pmda.Item(0, 4), Sem: pdu.SemDiscrete,
		Text: "Seconds that agents have for an answer",
		Help: `An agent that takes longer to answer a request fails it with a time-out.
0 means that there is no limit. The unit is seconds, rounded up.`,
		Value: always(p.timeout),
	})
	p.storable(0, 4, setter{set: setEach(func(_ pdu.InstID, v uint32) error {
		if v > math.MaxInt32 {
			return pdu.ErrSign
		}
		p.Collector.SetTimeout(time.Duration(v) * time.Second)
		return nil
	})})
}

func (p *pmcd) timeout() uint32 {
	t := max(p.Collector.Timeout(), 0)
	return uint32(min((t+time.Second-1)/time.Second, math.MaxInt32))
}

func (p *pmcd) addRegister() {
	register(p, pmda.Metric[int32]{
		Name: "pmcd.control.register", ID: pmda.Item(0, 8), Sem: pdu.SemDiscrete, InDom: p.registers,
		Text: "Registers for whatever clients agree upon",
		Help: `Sixteen numbers, 0 at first, without a meaning to the collector: clients may
store into them to leave marks for each other, for example in an archive.`,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
			for i := range s.Instances() {
				s.Put(i.ID, p.register[i.ID].Load())
			}
			return nil
		},
	})
	p.storable(0, 8, setter{set: setEach(func(i pdu.InstID, v int32) error {
		if i < 0 || int(i) >= len(p.register) {
			return pdu.ErrInst
		}
		p.register[i].Store(v)
		return nil
	})})
}

// addSwitch registers a metric that is 1 if a flag of the event trace is set, and 0 otherwise.
func (p *pmcd) addSwitch(name string, item int, flag eventtrace.Flags, text, help string) {
	t := p.Trace
	register(p, control(name, item, text, help, func() int32 {
		if t.Any(flag) {
			return 1
		}
		return 0
	}))
	p.storable(0, item, setter{set: setEach(func(_ pdu.InstID, v int32) error {
		if v != 0 && v != 1 {
			return pdu.ErrBadStore
		}
		t.Set(flag, v == 1)
		return nil
	})})
}

func (p *pmcd) addTraceBufs() {
	t := p.Trace
	register(p, control("pmcd.control.tracebufs", 11, "Events that the event trace holds",
		`When there are more, the oldest are forgotten. A store empties the trace.`,
		func() int32 { return int32(t.Capacity()) }))
	p.storable(0, 11, setter{set: setEach(func(_ pdu.InstID, v int32) error {
		switch {
		case v < 0:
			return pdu.ErrSign
		case v > eventtrace.MaxCapacity:
			return pdu.ErrBadStore
		}
		t.Resize(int(v))
		return nil
	})})
}

// addAction registers a metric that is always 0. A store calls do.
func (p *pmcd) addAction(name string, item int, text, help string, do func()) {
	register(p, control(name, item, text, help, func() int32 { return 0 }))
	p.storable(0, item, setter{set: func(*pmda.Request, pdu.ValueSet) error {
		do()
		return nil
	}})
}
