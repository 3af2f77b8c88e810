package collector

import (
	"bytes"
	"fmt"
	"io"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A debugNames writes what the options pmns and pmapi show of the requests of a client about names. How C pmcd looks for the names below
// one is not written: there is no such search here.
type debugNames struct {
	below string        // the name of a request for those below it
	asked *pdu.NameList // the names of a request for PMIDs
}

// write writes what is said of a PDU.
func (n *debugNames) write(s *Server, out bool, kind pdu.Kind, body []byte) {
	var b bytes.Buffer
	names, calls := io.Discard, io.Discard
	if s.debug.is(debugPMNS) {
		names = &b
	}
	if s.debug.is(debugPMAPI) {
		calls = &b
	}
	if out {
		n.reply(names, calls, kind, body)
	} else {
		n.request(names, kind, body)
	}
	if b.Len() > 0 {
		s.debug.write(b.String())
	}
}

func (n *debugNames) request(b io.Writer, kind pdu.Kind, body []byte) {
	n.below, n.asked = "", nil
	p, err := pdu.Decode(kind, body)
	if err != nil {
		return
	}
	switch p := p.(type) {
	case *pdu.ChildReq:
		fmt.Fprintf(b, "DecodeNameReq: name=\"%s\"\n", p.Name)
	case *pdu.TraverseReq:
		fmt.Fprintf(b, "DecodeNameReq: name=\"%s\"\n", p.Name)
		n.below = p.Name
	case *pdu.NameList:
		io.WriteString(b, "__pmDecodeNameList\n")
		pmlog.DumpNames(b, p)
		n.asked = p
	case *pdu.PMIDList:
		io.WriteString(b, "__pmDecodeIDList\n")
		pmlog.DumpIDs(b, p)
	}
}

func (n *debugNames) reply(b, calls io.Writer, kind pdu.Kind, body []byte) {
	p, err := pdu.Decode(kind, body)
	if err != nil {
		return
	}
	switch p := p.(type) {
	case *pdu.NameList:
		if n.below != "" {
			fmt.Fprintf(b, "DoPMNSTraverse: %d names below %s after pmTraversePMNS\n", len(p.Names), n.below)
		}
		io.WriteString(b, "__pmSendNameList\n")
		pmlog.DumpNames(b, p)
	case *pdu.PMIDList:
		if n.asked != nil && len(n.asked.Names) == len(p.PMIDs) {
			n.lookup(b, calls, p.PMIDs)
		}
		io.WriteString(b, "__pmSendIDList\n")
		pmlog.DumpIDs(b, p)
	}
	n.below, n.asked = "", nil
}

// lookup writes which of the names that were asked for stand for what.
func (n *debugNames) lookup(b, calls io.Writer, ids []pdu.PMID) {
	known := 0
	for _, id := range ids {
		if id != pdu.NoPMID {
			known++
		}
	}
	result := fmt.Sprint(known)
	if known == 0 {
		result = pdu.ErrName.Error()
	}
	fmt.Fprintf(b, "pmLookupName(%d, ...) using local PMNS returns %d and ...\n", len(ids), known)
	for i, id := range ids {
		fmt.Fprintf(b, "  name[%d]: \"%s\" PMID: 0x%x %v\n", i, n.asked.Names[i], uint32(id), id)
	}
	fmt.Fprintf(b, "pmLookupName(%d, ...) -> %s\n", len(ids), result)
	if len(ids) == 0 {
		return
	}
	if known > 0 {
		result += fmt.Sprintf(" (pmid[0] %v%s)", ids[0], toLast(len(ids), "pmid", ids[len(ids)-1]))
	}
	fmt.Fprintf(calls, "pmLookupName(%d, name[0] %s%s, ...) <::> returns %s\n", len(ids), n.asked.Names[0], toLast(len(ids), "name", n.asked.Names[len(ids)-1]), result)
}

// toLast is what stands for all elements of a list of n but the first.
func toLast(n int, list string, last any) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ... %s[%d] %v", list, n-1, last)
}
