package dbpmda

import (
	"encoding/binary"
	"time"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// A rawResult is a result that also records the form of each set's values.
type rawResult struct {
	pdu.Result
	forms []uint32 // of the sets
}

// Decode fills r from a body. It reads the forms after the sets are known to lie within the body.
func (r *rawResult) Decode(body []byte) error {
	if err := r.Result.Decode(body); err != nil {
		return err
	}
	if r.Len() == 0 {
		return pdu.ErrIPC // as for PCP's decoder
	}
	r.forms = r.forms[:0]
	at := 12 // behind the time and the number of sets
	for _, s := range r.All() {
		at += 8
		var form uint32
		if s.Len() > 0 {
			form = binary.BigEndian.Uint32(body[at:])
			at += 4 + 8*s.Len()
		}
		r.forms = append(r.forms, form)
	}
	return nil
}

// inPlace is the form of values in the set itself.
const inPlace = 0

// fetch prints the values of metrics.
func (d *debugger) fetch(ids []pdu.PMID) {
	if !d.connected() {
		return
	}
	d.printf("PMID(s):")
	for _, id := range ids {
		d.printf(" %v", id)
	}
	d.printf("\n")
	d.timed(func() outcome { return d.fetchValues(ids) })
}

func (d *debugger) fetchValues(ids []pdu.PMID) outcome {
	var descs []pdu.Desc
	if d.getDesc || d.getNames {
		for _, id := range ids {
			desc, o := d.descriptor(id)
			if o == failed {
				return failed
			}
			if o == noAnswer { // its values are then of an unknown type
				desc = pdu.Desc{PMID: id, Type: pdu.TypeUnknown, InDom: pdu.NoInDom}
			}
			descs = append(descs, desc)
		}
	}
	if o := d.sendProfile(); o != answered {
		return o
	}
	var r rawResult
	o := d.ask(fetchRequest, pdu.Fetch{PMIDs: ids}, &r)
	if o == answered {
		d.printResult(&r, descs)
	}
	return o
}

// printResult prints a result; descs are those of its metrics, or nil.
func (d *debugger) printResult(r *rawResult, descs []pdu.Desc) {
	t := time.Unix(0, 0)
	if !r.Time.IsZero() {
		t = r.Time
	}
	function, digits, nano := "__pmResult", 9, t.Nanosecond()
	layout := "15:04:05.000000000"
	if d.agent.dso {
		function, digits, nano, layout = "pmResult", 6, nano/1000, "15:04:05.000"
	}
	d.printf("%s dump from %p timestamp: %d.%0*d %s numpmid: %d\n", function, r, t.Unix(), digits, nano, t.Format(layout), r.Len())
	for i, s := range r.All() {
		desc := pdu.Desc{Type: pdu.TypeUnknown, InDom: pdu.NoInDom}
		separator := ", "
		if i < len(descs) {
			desc, separator = descs[i], " or "
		}
		d.printf("  %v (%s):", s.PMID, d.namesOf(s.PMID, separator))
		switch {
		case s.Err() != nil:
			d.printf(" %v\n", s.Err())
		case s.Len() == 0:
			d.printf(" No values returned!\n")
		default:
			d.printf(" numval: %d valfmt: %d vlist[]:\n", s.Len(), r.forms[i])
			d.printSet(s, r.forms[i], desc)
		}
	}
}

func (d *debugger) printSet(s pdu.ValueSet, form uint32, desc pdu.Desc) {
	for j := range s.Len() {
		if inst := s.Inst(j); s.Len() > 1 || inst != pdu.NoInst {
			d.printf("    inst [%d", inst)
			d.printInstanceName(desc.InDom, inst)
			d.printf("]")
		} else {
			d.printf("  ")
		}
		d.printf(" value %s\n", appendValue(nil, s, j, form, desc.Type))
	}
}

// appendValue appends a value. A value of unknown type is printed in all ways that its bytes allow,
// or with the type of its block.
func appendValue(b []byte, s pdu.ValueSet, i int, form uint32, t pdu.Type) []byte {
	var format pdu.ValueFormat
	if t == pdu.TypeUnknown && form != inPlace {
		return format.Append(b, s.Atom(i, pdu.Type32)) // a block has a type of its own
	}
	return format.AppendValue(b, s, i, t)
}

// printInstanceName prints the name of an instance. With getnames on it asks the agent for the
// name.
func (d *debugger) printInstanceName(dom pdu.InDom, inst pdu.InstID) {
	if d.getNames && dom != pdu.NoInDom {
		var reply pdu.InstanceReply
		if d.ask(instanceRequest, pdu.InstanceReq{InDom: dom, Inst: inst}, &reply) == answered && len(reply.Instances) == 1 {
			d.printf(" or \"%s\"", terminal.EscapeName(reply.Instances[0].Name))
			return
		}
	}
	d.printf(" or ???")
}
