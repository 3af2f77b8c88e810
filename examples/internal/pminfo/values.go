package pminfo

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

func (p *printer) printValues(d pdu.Desc, s pdu.ValueSet) {
	switch {
	case s.Err() != nil:
		p.printf("Error: %v\n", s.Err())
		return
	case s.Len() == 0:
		p.printf("No value(s) available!\n")
		return
	}
	for i := range s.Len() {
		if !p.printInst(d.InDom, s.Inst(i)) {
			continue
		}
		p.buf = p.format.AppendValue(append(p.buf[:0], "value "...), s, i, d.Type)
		p.out.Write(p.buf)
		p.out.WriteByte('\n')
		if p.unpacked && (d.Type == pdu.TypeEvent || d.Type == pdu.TypeHighResEvent) {
			p.printEvents(s.Atom(i, d.Type))
		}
	}
}

// printInst prints the text before the value of an instance. It reports whether the value must be
// printed.
func (p *printer) printInst(d pdu.InDom, inst pdu.InstID) bool {
	if d == pdu.NoInDom {
		p.printf("    ")
		return true
	}
	name, known := p.instances(d).names.Name(inst)
	switch {
	case known:
		p.printf("    inst [%d or \"%s\"] ", inst, terminal.EscapeName(name))
	case p.fetchAll:
		p.printf("    inst [%d \"DISAPPEARED\"]\n", inst)
		return false
	default:
		p.printf("pmNameIndom: indom=%v inst=%d: %v\n    inst [%d] ", d, inst, pdu.ErrInst, inst)
	}
	return true
}

// printEvents prints the records of an event array.
func (p *printer) printEvents(a pdu.Atom) {
	events, err := a.Events()
	if err != nil {
		function := "pmUnpackEventRecords"
		if a.Type == pdu.TypeHighResEvent {
			function = "pmUnpackHighResEventRecords"
		}
		fmt.Fprintf(os.Stderr, "pminfo: %s: %v\n", function, pcptool.Cause(err))
		return
	}
	layout := pcptool.StampLayout
	if a.Type == pdu.TypeHighResEvent {
		layout = pcptool.HighResStampLayout
	}
	n := 0
	for r := range events.All() {
		at := r.Time
		if at.IsZero() { // a record whose time is 0 has the zero time.Time
			at = time.Unix(0, 0)
		}
		p.printf("    --- event record [%d] timestamp %s", n, at.In(p.format.Location).Format(layout))
		n++
		if r.Flags != 0 {
			p.printf(" flags 0x%x (%v)", uint32(r.Flags), r.Flags)
		}
		p.printf(" ---\n")
		switch {
		case r.Flags == pdu.EventMissed:
			p.printf("        ==> %d missed event records\n", r.Missed)
		case r.Flags == 0 && r.NumParams() == 0:
			p.printf("\tNo parameters\n")
		}
		for id, v := range r.Params() {
			p.printParameter(id, v)
		}
	}
}

// printParameter prints a parameter of an event record.
func (p *printer) printParameter(id pdu.PMID, a pdu.Atom) {
	m := p.requestParameter(id)
	if m.names == nil {
		p.printf("\tPMID: %v\n", id)
	} else {
		p.printf("    %s (%v)\n", terminal.EscapeName(strings.Join(m.names, " or ")), id)
	}
	if m.err != nil {
		p.printf("\tpmLookupDesc: %v\n", pcptool.Cause(m.err))
		return
	}
	p.printf("    ")
	if p.printInst(m.desc.InDom, pdu.NoInst) {
		p.printf("value %s\n", p.format.AppendParam(nil, a, m.desc.Type))
	}
}

// A parameter is the metric of a parameter of event records. It may have no names.
type parameter struct {
	names []string
	desc  pdu.Desc
	err   error // why there is no descriptor
}

// requestParameter requests the metric of a parameter of event records, once.
func (p *printer) requestParameter(id pdu.PMID) *parameter {
	if m := p.parameters[id]; m != nil {
		return m
	}
	m := new(parameter)
	m.names, _ = p.pc.Names(p.ctx, id)
	m.desc, m.err = p.pc.Desc(p.ctx, id)
	if p.parameters == nil {
		p.parameters = map[pdu.PMID]*parameter{}
	}
	p.parameters[id] = m
	return m
}
