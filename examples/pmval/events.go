package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// arrays prints the records of event arrays.
func (p *printer) arrays(ctx context.Context, set pdu.ValueSet) {
	for inst, a := range set.All(p.desc.Type) {
		name := p.name
		if p.desc.InDom != pdu.NoInDom {
			i := p.column(inst)
			if i < 0 {
				continue
			}
			name += "[" + p.insts[i].Name + "]"
		}
		events, err := a.Events()
		if err != nil {
			fmt.Fprintf(p.out, "%s: pmUnpackEventRecords: %s\n", name, tool.Reason(err))
			continue
		}
		fmt.Fprintf(p.out, "%s: %d event records\n", name, events.Len())
		n := 0
		for r := range events.All() {
			p.record(ctx, n, r)
			n++
		}
	}
}

// record prints one record, the nth of its array.
func (p *printer) record(ctx context.Context, n int, r pdu.EventRecord) {
	fmt.Fprintf(p.out, "  %s --- event record [%d]", p.clock(r.Time), n)
	if r.Flags != 0 {
		fmt.Fprintf(p.out, " flags 0x%x (%v)", uint32(r.Flags), r.Flags)
	}
	fmt.Fprintf(p.out, " ---\n")
	switch {
	case r.Flags == pdu.EventMissed:
		fmt.Fprintf(p.out, "    ==> %d missed event records\n", r.Missed)
	case r.Flags == 0 && r.Len() == 0:
		fmt.Fprintf(p.out, "    ==> No parameters\n")
	}
	for id, a := range r.All() {
		name, err := p.nameOf(ctx, id)
		if err != nil {
			fmt.Fprintf(p.out, "\t%v: pmNameID: %s\n", id, tool.Reason(err))
			continue
		}
		p.buf = pmapi.AppendValue(p.buf[:0], a, 0)
		if a.Type == pdu.TypeAggregate || a.Type == pdu.TypeAggregateStatic {
			p.buf = fmt.Appendf(p.buf[:0], "[%x]", a.Bytes())
		}
		fmt.Fprintf(p.out, "    %s %s\n", name, p.buf)
	}
}

// clock is a time of day, to the nanosecond where the records have them.
func (p *printer) clock(t time.Time) string {
	if p.desc.Type == pdu.TypeHighResEvent {
		return t.In(p.zone).Format("15:04:05.000000000")
	}
	return t.In(p.zone).Format("15:04:05.000")
}

// nameOf is the name of a parameter.
func (p *printer) nameOf(ctx context.Context, id pdu.PMID) (string, error) {
	if name, ok := p.names[id]; ok {
		return name, nil
	}
	name, err := p.pc.Name(ctx, id)
	if err == nil {
		if p.names == nil {
			p.names = map[pdu.PMID]string{}
		}
		p.names[id] = name
	}
	return name, err
}
