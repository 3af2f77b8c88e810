package pmval

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// printEvents prints the records of event arrays.
func (p *printer) printEvents(ctx context.Context, set pdu.ValueSet) {
	p.out.Write(p.appendStamp(p.buf[:0]))
	if p.archive != "" {
		p.out.WriteString("  ")
	}
	for inst, a := range set.All(p.desc.Type) {
		name := p.name
		if p.desc.InDom != pdu.NoInDom {
			i, ok := p.columnOf(inst)
			if !ok {
				continue
			}
			name += "[" + p.insts[i].Name + "]"
		}
		events, err := a.Events()
		if err != nil {
			fmt.Fprintf(p.out, "%s: pmUnpackEventRecords: %v\n", name, pcptool.Cause(err))
			continue
		}
		fmt.Fprintf(p.out, "%s: %d event records\n", name, events.Len())
		n := 0
		for r := range events.All() {
			p.printRecord(ctx, n, r)
			n++
		}
	}
}

// printRecord prints one record, the nth of its array.
func (p *printer) printRecord(ctx context.Context, n int, r pdu.EventRecord) {
	fmt.Fprintf(p.out, "  %s --- event record [%d]", p.formatTime(r.Time), n)
	if r.Flags != 0 {
		fmt.Fprintf(p.out, " flags 0x%x (%v)", uint32(r.Flags), r.Flags)
	}
	fmt.Fprintf(p.out, " ---\n")
	switch {
	case r.Flags == pdu.EventMissed:
		fmt.Fprintf(p.out, "    ==> %d missed event records\n", r.Missed)
	case r.Flags == 0 && r.NumParams() == 0:
		fmt.Fprintf(p.out, "    ==> No parameters\n")
	}
	for id, a := range r.Params() {
		name, err := p.parameterName(ctx, id)
		if err != nil {
			fmt.Fprintf(p.out, "\t%v: pmNameID: %v\n", id, pcptool.Cause(err))
			continue
		}
		p.buf = pdu.ValueFormat{}.Append(p.buf[:0], a)
		if a.Type == pdu.TypeAggregate || a.Type == pdu.TypeAggregateStatic {
			p.buf = fmt.Appendf(p.buf[:0], "[%x]", a.Bytes())
		}
		fmt.Fprintf(p.out, "    %s %s\n", name, p.buf)
	}
}

// formatTime formats the time of a record as a time of day, with nanoseconds if the records have
// them.
func (p *printer) formatTime(t time.Time) string {
	if p.desc.Type == pdu.TypeHighResEvent {
		return t.In(p.Location).Format(pcptool.HighResStampLayout)
	}
	return t.In(p.Location).Format(pcptool.StampLayout)
}

// parameterName returns the name of a parameter's metric. It is requested once.
func (p *printer) parameterName(ctx context.Context, id pdu.PMID) (string, error) {
	if name, ok := p.names[id]; ok {
		return name, nil
	}
	name, err := p.pc.Name(ctx, id)
	if err == nil {
		if p.names == nil {
			p.names = map[pdu.PMID]string{}
		}
		name = terminal.EscapeName(name)
		p.names[id] = name
	}
	return name, err
}
