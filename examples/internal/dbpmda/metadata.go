package dbpmda

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// desc prints the descriptor of a metric.
func (d *debugger) desc(id pdu.PMID) {
	if !d.connected() {
		return
	}
	d.printf("PMID: %v\n", id)
	d.timed(func() outcome {
		desc, o := d.descriptor(id)
		if o == answered {
			d.printDesc(desc)
		}
		return o
	})
}

func (d *debugger) descriptor(id pdu.PMID) (pdu.Desc, outcome) {
	var reply pdu.DescReply
	o := d.ask(descRequest, pdu.DescReq{PMID: id}, &reply)
	return reply.Desc, o
}

func (d *debugger) printDesc(desc pdu.Desc) {
	d.printf("    Data Type: %s", pcptool.TypeText(desc.Type))
	if desc.Type != pdu.TypeNoSupport {
		d.printf("  InDom: %v 0x%x\n    %s", desc.InDom, uint32(desc.InDom), pcptool.SemanticsText(desc))
	}
	d.printf("\n")
}

// instance prints instances of an instance domain.
func (d *debugger) instance(r pdu.InstanceReq) {
	if !d.connected() {
		return
	}
	d.printf("pmInDom: %v\n", r.InDom)
	d.timed(func() outcome {
		var reply pdu.InstanceReply
		o := d.ask(instanceRequest, r, &reply)
		if o != answered {
			return o
		}
		for i, inst := range reply.Instances {
			d.printf("[%3d]", i)
			if r.Inst == pdu.NoInst {
				d.printf(" inst: %d", inst.ID)
			}
			if r.Name == "" {
				d.printf(" name: \"%s\"", terminal.EscapeName(inst.Name))
			}
			d.printf("\n")
		}
		if len(reply.Instances) == 0 {
			d.printf("Instance domain is empty\n")
		}
		return o
	})
}

// text prints the help texts of a metric or instance domain.
func (d *debugger) text(header string, ident uint32, kind pdu.TextKind) {
	if !d.connected() {
		return
	}
	d.printf("%s\n", header)
	d.timed(func() outcome {
		var reply pdu.TextReply
		if d.ask(textRequest, pdu.TextReq{Ident: ident, Text: kind | pdu.TextOneLine}, &reply) == answered {
			if reply.Text == "" {
				reply.Text = "<no one line help text specified>"
			}
			d.printf("[%s]\n", reply.Text)
		}
		o := d.ask(textRequest, pdu.TextReq{Ident: ident, Text: kind | pdu.TextHelp}, &reply)
		if o == answered {
			if reply.Text == "" {
				reply.Text = "<no help text specified>"
			}
			d.printf("%s\n", reply.Text)
		}
		return o
	})
}

// label prints labels.
func (d *debugger) label(header string, r pdu.LabelReq) {
	if !d.connected() {
		return
	}
	if header != "" {
		d.printf("%s\n", header)
	}
	d.timed(func() outcome {
		switch a := d.agent; {
		case r.Class != pdu.LabelInstances:
		case !a.dso:
			d.sendProfile() // a failure has been reported, and shows again
		case a.selects && d.selected:
			d.writeProfile() // one in a shared object sees each change as soon as it has seen the selection
		}
		var reply pdu.LabelReply
		o := d.ask(labelRequest, r, &reply)
		if o == answered {
			d.printLabels(reply.Sets)
		}
		return o
	})
}

func (d *debugger) printLabels(sets []pdu.LabelSet) {
	switch {
	case len(sets) > 0:
	case d.agent.dso:
		d.printf("Info: DSO label() returns 0\n")
	default:
		d.printf("Info: __pmDecodeLabel() returns 0 label sets\n")
	}
	for i, set := range sets {
		if set.Inst != pdu.NoInst {
			d.printf("[%3d] Labels inst: %d\n", i, set.Inst)
		} else {
			d.printf("Labels:\n")
		}
		for l := range set.All() {
			d.printf("    %s=%s\n", l.Name, l.Value)
		}
	}
}

// attr tells the agent an attribute of its client.
func (d *debugger) attr(key pdu.Attribute, value, shown string) {
	if !d.connected() {
		return
	}
	d.printf("Attribute: %v=%s\n", key, shown)
	d.timed(func() outcome {
		d.out.FlushLines()
		var text []byte
		if value != "" {
			text = append([]byte(value), 0)
		}
		if err := d.agent.conn.Write(0, pdu.Attr{Key: key, Value: text}); err != nil {
			d.printf("Error: __pmSendAttr() failed: %v\n", pdu.FromError(err))
			return failed
		}
		d.printf("Success\n")
		return answered
	})
}

// lookupDynamic returns the PMID of a name that the agent knows. Without an agent it returns 0.
func (d *debugger) lookupDynamic(name string) (pdu.PMID, error) {
	if d.agent == nil {
		return 0, nil
	}
	var reply pdu.PMIDList
	if !d.askQuietly(pdu.NameList{Names: []string{name}}, pdu.KindPMNSIDs, &reply) || len(reply.PMIDs) != 1 {
		return 0, errUnknownName
	}
	return reply.PMIDs[0], nil
}

// nameOf prints the names that the agent has for a metric.
func (d *debugger) nameOf(id pdu.PMID) {
	var reply pdu.NameList
	d.askNames("PMID: "+id.String(), nameRequest, pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &reply, func() {
		for _, n := range reply.Names {
			d.printf("   %s\n", terminal.EscapeName(n))
		}
	})
}

// pmid prints the PMID that the agent has for a name.
func (d *debugger) pmid(name string) {
	var reply pdu.PMIDList
	d.askNames("Metric: "+name, pmidRequest, pdu.NameList{Names: []string{name}}, &reply, func() {
		for _, id := range reply.PMIDs {
			d.printf("   %v\n", id)
		}
	})
}

// children prints the names below one.
func (d *debugger) children(name string) {
	var reply pdu.NameList
	d.askNames("Metric: "+name, childRequest, pdu.ChildReq{Name: name, Status: true}, &reply, func() { d.printChildren(reply) })
}

// traverse prints the names of all metrics below a name. For an agent opened as a shared object it
// prints their status too.
func (d *debugger) traverse(name string) {
	var reply pdu.NameList
	d.askNames("Metric: "+name, traverseRequest, pdu.TraverseReq{Name: name}, &reply, func() {
		if d.agent.dso {
			reply.Statuses = make([]int32, len(reply.Names))
		}
		d.printChildren(reply)
	})
}

func (d *debugger) printChildren(l pdu.NameList) {
	if len(l.Names) == 0 && d.agent.dso {
		d.printf("Warning: DSO children() returns 0\n")
	}
	for i, n := range l.Names {
		status := ""
		if i < len(l.Statuses) {
			status = "leaf"
			if l.Statuses[i] == pdu.NonLeaf {
				status = "non-leaf"
			}
			status = fmt.Sprintf("%8s ", status)
		}
		d.printf("   %s%s\n", status, terminal.EscapeName(n))
	}
}

// askNames makes a request about names and prints the reply.
func (d *debugger) askNames(header string, r request, p pdu.PDU, reply decoder, print func()) {
	if !d.connected() {
		return
	}
	d.printf("%s\n", header)
	d.timed(func() outcome {
		o := d.ask(r, p, reply)
		if o == answered {
			print()
		}
		return o
	})
}

// namesOf returns the names of a metric in the name space.
func (d *debugger) namesOf(id pdu.PMID, separator string) string {
	if names := d.names.Names(id); len(names) > 0 {
		return strings.Join(names, separator)
	}
	return "<noname>"
}
