package tool

import (
	"fmt"
	"io"
	"strings"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A pduDebug prints what debug options show of the PDUs of a connection: pmns those about names,
// indom the lists of instances, labels the label sets, and attr the attributes. PCP prints
// addresses, too; those here mean nothing else.
type pduDebug struct {
	w                         io.Writer
	pmns, indom, labels, attr bool

	located bool     // it has been printed where names are looked up
	asked   pdu.Kind // of the latest request
	names   int      // of a request for PMIDs, how many
	child   string   // the name of a request for children
	domain  pdu.InDom
	method  bool // the method of a login has been sent
}

func (p *pduDebug) any() bool { return p.pmns || p.indom || p.labels || p.attr }

// sending prints what comes before a PDU that is sent.
func (p *pduDebug) sending(kind pdu.Kind, body []byte) {
	p.asked = kind
	if kind >= pdu.KindPMNSIDs && kind <= pdu.KindPMNSTraverse && p.pmns {
		p.request(kind, body)
	}
	switch kind {
	case pdu.KindInstanceReq:
		var req pdu.InstanceReq
		if req.Decode(body) == nil {
			p.domain = req.InDom
		}
	case pdu.KindAttr:
		p.attribute("__pmSendAttr", body, true)
	}
}

// request prints a request about names.
func (p *pduDebug) request(kind pdu.Kind, body []byte) {
	if !p.located {
		p.located = true
		io.WriteString(p.w, "pmGetPMNSLocation() -> Remote\n")
	}
	switch kind {
	case pdu.KindPMNSNames:
		var list pdu.NameList
		if list.Decode(body) != nil {
			return
		}
		p.names = len(list.Names)
		io.WriteString(p.w, "pmLookupName: request_names ->")
		for i, name := range list.Names {
			fmt.Fprintf(p.w, " [%d] %s", i, name)
		}
		io.WriteString(p.w, "\n__pmSendNameList\n")
		pmlog.DumpNames(p.w, &list)
	case pdu.KindPMNSIDs:
		var list pdu.PMIDList
		if list.Decode(body) == nil {
			io.WriteString(p.w, "__pmSendIDList\n")
			pmlog.DumpIDs(p.w, &list)
		}
	case pdu.KindPMNSChild:
		var req pdu.ChildReq
		if req.Decode(body) == nil {
			p.child = req.Name
			subtype := 0
			if req.Status {
				subtype = 1
			}
			fmt.Fprintf(p.w, "SendNameReq: from=0 name=\"%s\" pdu=PMNS_CHILD subtype=%d\n", req.Name, subtype)
		}
	case pdu.KindPMNSTraverse:
		var req pdu.TraverseReq
		if req.Decode(body) == nil {
			fmt.Fprintf(p.w, "SendNameReq: from=0 name=\"%s\" pdu=PMNS_TRAVERSE subtype=0\n", req.Name)
		}
	}
}

// received prints what follows a PDU that has been received.
func (p *pduDebug) received(kind pdu.Kind, body []byte) {
	switch kind {
	case pdu.KindPMNSNames:
		p.nameReply(body)
	case pdu.KindPMNSIDs:
		p.idReply(body)
	case pdu.KindError:
		p.failure(body)
	case pdu.KindInstance:
		p.instances(body)
	case pdu.KindLabel:
		p.labelReply(body)
	case pdu.KindAttr:
		p.attribute("__pmDecodeAttr", body, false)
	}
}

func (p *pduDebug) nameReply(body []byte) {
	var l pdu.NameList
	if !p.pmns || l.Decode(body) != nil {
		return
	}
	io.WriteString(p.w, "__pmDecodeNameList\n")
	pmlog.DumpNames(p.w, &l)
	if p.asked != pdu.KindPMNSChild {
		return
	}
	what := "namelist"
	if l.Statuses != nil {
		what = "namelist & statuslist"
	}
	fmt.Fprintf(p.w, "pmGetChildren(name=\"%s\") -> %s dump: numnames = %d\n", p.child, what, len(l.Names))
	for i, name := range l.Names {
		fmt.Fprintf(p.w, "  name[%d]: \"%s\"", i, name)
		if l.Statuses != nil {
			io.WriteString(p.w, map[bool]string{true: " (leaf)", false: " (non-leaf)"}[l.Statuses[i] == pdu.Leaf])
		}
		io.WriteString(p.w, "\n")
	}
}

func (p *pduDebug) idReply(body []byte) {
	var l pdu.PMIDList
	if !p.pmns || l.Decode(body) != nil {
		return
	}
	io.WriteString(p.w, "__pmDecodeIDList\n")
	pmlog.DumpIDs(p.w, &l)
	io.WriteString(p.w, "pmLookupName: receive_names <-")
	known := 0
	for i, id := range l.PMIDs {
		fmt.Fprintf(p.w, " [%d] %v", i, id)
		if id != pdu.NoPMID {
			known++
		}
	}
	fmt.Fprintf(p.w, "\npmLookupName(%d, ...) -> %d\n", p.names, known)
}

// failure prints what follows an error in the place of a reply.
func (p *pduDebug) failure(body []byte) {
	var status pdu.Status
	if !p.pmns || len(body) != 4 || status.Decode(body) != nil {
		return
	}
	why := status.Code.Error()
	switch p.asked {
	case pdu.KindPMNSNames:
		fmt.Fprintf(p.w, "pmLookupName: receive_names <- %s\npmLookupName(%d, ...) -> %s\n", why, p.names, why)
	case pdu.KindPMNSChild:
		if status.Code == 0 {
			why = "leaf"
		}
		fmt.Fprintf(p.w, "pmGetChildren(name=\"%s\") -> %s\n", p.child, why)
	}
}

func (p *pduDebug) instances(body []byte) {
	var r pdu.InstanceReply
	if !p.indom || r.Decode(body) != nil {
		return
	}
	pmlog.DumpInstances(p.w, p, p.domain, r.Instances)
}

func (p *pduDebug) labelReply(body []byte) {
	var r pdu.LabelReply
	if !p.labels || r.Decode(body) != nil {
		return
	}
	pmlog.DumpLabels(p.w, "__pmDecodeLabel", p, &r)
}

// attribute prints the data of a login. What a client sends is masked behind the name of the
// method, unlike in PCP, since it may be a password, or what one can be found with.
func (p *pduDebug) attribute(call string, body []byte, out bool) {
	var a pdu.Attr
	if !p.attr || a.Decode(body) != nil || a.Key != pdu.AttrNone {
		return
	}
	text := string(a.Value)
	if out {
		method, _, _ := strings.Cut(text, "\x00")
		if p.method { // it was in the PDU before
			method = ""
		}
		p.method = true
		text = method + ".***"
	}
	io.WriteString(p.w, pmlog.DumpAttr(call, a.Key, len(a.Value), text))
}
