package pmdumplog

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// appendEventSet appends the event records of a metric.
func (d *dumper) appendEventSet(b []byte, m *metric, s pdu.ValueSet) []byte {
	for i := range s.Len() {
		b = fmt.Appendf(b, "    %v (%s", s.PMID, m.names)
		if m.inDom != nil {
			b = append(m.inDom.append(append(b, '['), s.Inst(i)), ']')
		}
		b = append(b, "): "...)
		events, err := s.Atom(i, m.desc.Type).Events()
		if err != nil {
			b = fmt.Appendf(b, "%v\n", pcptool.Cause(err))
			continue
		}
		b = d.appendEvents(b, events, m.desc.Type)
	}
	return b
}

// appendEvents appends the number of records in an event array, and the records.
func (d *dumper) appendEvents(b []byte, events pdu.EventArray, t pdu.Type) []byte {
	records, missed := events.Len(), 0
	for r := range events.All() {
		missed += r.Missed
	}
	switch {
	case records+missed == 0:
		return append(b, "No event records\n"...)
	case missed == 0:
		b = fmt.Appendf(b, "%d", records)
	default:
		b = fmt.Appendf(b, "%d (and %d missed)", records, missed)
	}
	b = append(b, " event record"...)
	if records+missed != 1 {
		b = append(b, 's')
	}
	b = append(b, '\n')
	n := 0
	for r := range events.All() {
		b = d.appendEvent(b, r, n, t)
		n++
	}
	return b
}

// appendEvent appends record n of an event array of type t.
func (d *dumper) appendEvent(b []byte, r pdu.EventRecord, n int, t pdu.Type) []byte {
	at := r.Time
	if at.IsZero() { // a record whose time is 0 has the zero time.Time
		at = time.Unix(0, 0)
	}
	b = fmt.Appendf(b, "        --- event record [%d] timestamp ", n)
	b = d.appendEventTime(b, at, t)
	if r.Flags != 0 {
		b = fmt.Appendf(b, " flags 0x%x (%v)", uint32(r.Flags), r.Flags)
	}
	b = append(b, " ---\n"...)
	switch {
	case r.Flags == pdu.EventMissed:
		b = fmt.Appendf(b, "        ==> %d missed event records\n", r.Missed)
	case r.Flags == 0 && r.NumParams() == 0:
		b = append(b, "\t          No parameters\n"...)
	}
	for id, v := range r.Params() {
		b = d.appendParam(b, id, v)
	}
	return b
}

// appendEventTime appends the time of a record. The time of a high-resolution record has no date.
func (d *dumper) appendEventTime(b []byte, at time.Time, t pdu.Type) []byte {
	clock := d.clock
	defer func() { d.clock = clock }()
	if t == pdu.TypeHighResEvent {
		d.clock.Digits = logtext.Nanos
		return d.clock.Append(b, at)
	}
	d.clock.Digits = logtext.Micros
	return d.appendDate(b, at)
}

// appendParam appends a parameter of an event record.
func (d *dumper) appendParam(b []byte, id pdu.PMID, v pdu.Atom) []byte {
	b = append(b, "        "...)
	if names := d.nameSpace.Names(id); len(names) > 0 {
		b = fmt.Appendf(b, "%v (%s): ", id, strings.Join(names, " or "))
	} else {
		b = fmt.Appendf(b, "PMID: %v: ", id)
	}
	desc, known := d.meta.Desc(id)
	if !known {
		return fmt.Appendf(b, "pmLookupDesc: %v\n", pdu.ErrPMIDLog)
	}
	return append(format.AppendParam(append(b, "value "...), v, desc.Type), '\n')
}
