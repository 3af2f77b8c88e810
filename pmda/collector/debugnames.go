package collector

import (
	"bytes"
	"fmt"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A debugNames writes what the option pmns shows of the requests of a client about names. How C pmcd looks for the names below one is
// not written: there is no such search here.
type debugNames struct {
	below string        // the name of a request for those below it
	asked *pdu.NameList // the names of a request for PMIDs
}

// write writes what is said of a PDU.
func (n *debugNames) write(s *Server, out bool, kind pdu.Kind, body []byte) {
	var b bytes.Buffer
	if out {
		n.reply(&b, kind, body)
	} else {
		n.request(&b, kind, body)
	}
	if b.Len() > 0 {
		s.debug.write(b.String())
	}
}

func (n *debugNames) request(b *bytes.Buffer, kind pdu.Kind, body []byte) {
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
		b.WriteString("__pmDecodeNameList\n")
		pmlog.DumpNames(b, p)
		n.asked = p
	case *pdu.PMIDList:
		b.WriteString("__pmDecodeIDList\n")
		pmlog.DumpIDs(b, p)
	}
}

func (n *debugNames) reply(b *bytes.Buffer, kind pdu.Kind, body []byte) {
	p, err := pdu.Decode(kind, body)
	if err != nil {
		return
	}
	switch p := p.(type) {
	case *pdu.NameList:
		if n.below != "" {
			fmt.Fprintf(b, "DoPMNSTraverse: %d names below %s after pmTraversePMNS\n", len(p.Names), n.below)
		}
		b.WriteString("__pmSendNameList\n")
		pmlog.DumpNames(b, p)
	case *pdu.PMIDList:
		if n.asked != nil && len(n.asked.Names) == len(p.PMIDs) {
			n.lookup(b, p.PMIDs)
		}
		b.WriteString("__pmSendIDList\n")
		pmlog.DumpIDs(b, p)
	}
	n.below, n.asked = "", nil
}

// lookup writes which of the names that were asked for stand for what.
func (n *debugNames) lookup(b *bytes.Buffer, ids []pdu.PMID) {
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
}
