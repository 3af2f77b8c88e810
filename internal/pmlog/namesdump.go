package pmlog

import (
	"fmt"
	"io"

	"github.com/pcp-go/pcp/pdu"
)

// DumpNames writes what PCP's programs print of names with the debug option pmns, and whether they
// are leaves if that is known.
func DumpNames(w io.Writer, l *pdu.NameList) {
	fmt.Fprintf(w, "namelist dump: numnames = %d\n", len(l.Names))
	for i, name := range l.Names {
		fmt.Fprintf(w, "  name[%d]: \"%s\"\n", i, name)
	}
	if l.Statuses == nil {
		return
	}
	fmt.Fprintf(w, "statuslist dump: numstatus = %d\n", len(l.Statuses))
	for i, s := range l.Statuses {
		fmt.Fprintf(w, "  status[%d]: %d\n", i, s)
	}
}

// DumpIDs writes what PCP's programs print of PMIDs with the debug option pmns.
func DumpIDs(w io.Writer, l *pdu.PMIDList) {
	fmt.Fprintf(w, "IDlist dump: numids = %d\n", len(l.PMIDs))
	for i, id := range l.PMIDs {
		fmt.Fprintf(w, "  PMID[%d]: 0x%08x %v\n", i, uint32(id), id)
	}
}
