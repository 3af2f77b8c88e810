package pmlog

import (
	"fmt"
	"io"

	"github.com/pcp-go/pcp/pdu"
)

// DumpInstances writes what PCP's programs print of instances with the debug option indom. At
// stands for the address of the list. A reply by name has no names, one by number no numbers.
func DumpInstances(w io.Writer, at any, domain pdu.InDom, list []pdu.Instance) {
	fmt.Fprintf(w, "pmInResult dump from %p for InDom %v (0x%x), numinst=%d\n", at, domain, uint32(domain), len(list))
	for i, inst := range list {
		fmt.Fprintf(w, "  [%d]", i)
		if inst.ID != pdu.NoInst {
			fmt.Fprintf(w, " inst=%d", inst.ID)
		}
		if inst.Name != "" {
			fmt.Fprintf(w, " name=\"%s\"", inst.Name)
		}
		io.WriteString(w, "\n")
	}
}

// DumpLabels writes what PCP's programs print of labels with the debug option labels. Call is the
// function that decodes or sends them, and at stands for the address of the sets.
func DumpLabels(w io.Writer, call string, at any, r *pdu.LabelReply) {
	where := "(nil)"
	if len(r.Sets) > 0 {
		where = fmt.Sprintf("%p", at)
	}
	fmt.Fprintf(w, "%s(ident=%d,type=0x%x[%v], %d sets @%s)\n", call, int32(r.Ident), int32(r.Class), r.Class, len(r.Sets), where)
	for i, s := range r.Sets {
		n := len(s.Labels)
		if s.Err != 0 {
			n = int(s.Err)
		}
		fmt.Fprintf(w, "[%d] pmLabelSet dump from %p inst=%d nlabels=%d\n", i, at, s.Inst, n)
		if len(s.Labels) == 0 {
			continue
		}
		fmt.Fprintf(w, "pmLabelSet %p json:\n    %s\npmLabelSet %p index:\n", at, s.JSON, at)
		for j, l := range s.Labels {
			fmt.Fprintf(w, "    [%d] name(%d,%d) : value(%d,%d) [%v]\n", j, l.NameOff, l.NameLen, l.ValueOff, l.ValueLen, l.Flags.Class())
		}
	}
}
