package collector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// debugHost writes what the access rules for hosts say of a client.
func (s *Server) debugHost(c *client, denied pmcdconf.Ops, err error) {
	if !s.debug.is(debugAccess) {
		return
	}
	verdict := "success"
	full, limited := errors.AsType[*access.FullError](err)
	switch {
	case limited:
		verdict = fmt.Sprintf("cons=%d >= max=%d: denied", full.Conns, full.Max)
	case err != nil:
		verdict = fmt.Sprintf("all_ops=%d: denied", pmcdconf.OpAll)
	case s.access.Load().NoHosts():
		verdict = "no access controls, allow all"
	}
	s.debug.write(fmt.Sprintf("__pmAccAddClient(%s, %d): %s\n", peerName(c.conn), denied, verdict))
}

// debugAccount writes what the access rules for users and groups say of a client.
func (s *Server) debugAccount(c *client, err error) {
	if !s.debug.is(debugAuth) {
		return
	}
	id := func(n int) string {
		if n < 0 {
			return "(null)"
		}
		return strconv.Itoa(n)
	}
	info := c.info.Load()
	uid, gid := id(info.UID), id(info.GID)
	users, groups := s.access.Load().NumAccounts()
	text := fmt.Sprintf("CheckAccountAccess: client fd=%d userid=%s groupid=%s\n__pmAccAddAccount: userid=%s (%d users in list) groupid=%s (%d groups in list)\n",
		rawconn.Descriptor(c.conn), uid, gid, uid, users, gid, groups)
	if err != nil {
		text += fmt.Sprintf("DoCreds: CheckAccountAccess returns %d: %v\n", failure(err), failure(err))
	}
	s.debug.write(text)
}

// debugCreds writes which features a client asks for.
func (s *Server) debugCreds(p *pdu.Creds) {
	if !s.debug.is(debugAttr) {
		return
	}
	var names []string
	for i, name := range featureNames {
		if p.Features&(1<<i) != 0 && name != "" {
			names = append(names, name)
		}
	}
	s.debug.write(fmt.Sprintf("DoCreds: version cred (%d) flags=%x (%s)\n", p.Version, uint32(p.Features), strings.Join(names, "|")))
}

// featureNames are C pmcd's names of the bits of features.
var featureNames = [...]string{"SECURE", "COMPRESS", "AUTH", "CREDS_REQD", "SECURE_ACK", "NO_NSS_INIT", "CONTAINER", "",
	"BAD_LABEL", "LABELS", "HIGHRES", "DESCS"}

// attributesOf are the attributes of a client that are known, in the order in which C pmcd sends most of them.
func attributesOf(info *pmda.Client) (list []pdu.Attr) {
	text := func(key pdu.Attribute, value string) {
		if value != "" {
			list = append(list, pdu.Attr{Key: key, Value: []byte(value)})
		}
	}
	number := func(key pdu.Attribute, n int) {
		if n >= 0 {
			text(key, strconv.Itoa(n))
		}
	}
	text(pdu.AttrContainer, info.Container)
	number(pdu.AttrProcessID, info.PID)
	text(pdu.AttrUsername, info.User)
	number(pdu.AttrGroupID, info.GID)
	number(pdu.AttrUserID, info.UID)
	return list
}

// debugAttributes writes that agents in this process are told about a client's attributes, which they log.
func (s *Server) debugAttributes(info *pmda.Client) {
	if !s.debug.is(debugAttr | debugAuth) {
		return
	}
	for i, a := range s.agents.Load().list {
		if a.local == nil {
			continue
		}
		for _, at := range attributesOf(info) {
			if s.debug.is(debugAttr) {
				s.debug.write(fmt.Sprintf("pmcd: send client[%d] attr %v=%s to dso agent[%d]\n", info.ID, at.Key, at.Value, i))
			}
			s.traceLog.Info(fmt.Sprintf("Attribute: ctx=%d %v=%s", info.ID, at.Key, at.Value))
		}
	}
}

// debugClientPDU writes what C pmcd says of a PDU of a client, beside the PDU itself.
func (s *Server) debugClientPDU(out bool, h pdu.Header, body []byte) {
	switch {
	case h.Kind == pdu.KindAttr && s.debug.is(debugAttr):
		s.debugLogin(out, body)
	case h.Kind == pdu.KindInstance || h.Kind == pdu.KindLabel:
		s.debugMetadata(out, h.Kind, body)
	case s.debug.is(debugContext):
		s.debugContext(out, h, body)
	}
}

// debugLogin writes an attribute that is exchanged with a client: its container, or a message of a login, of which what the client
// sends is masked behind the name of the mechanism, unlike in C pmcd: it may be a password, or what one can be found with.
func (s *Server) debugLogin(out bool, body []byte) {
	var a pdu.Attr
	if a.Decode(body) != nil {
		return
	}
	call, text := "__pmSendAttr", string(a.Value)
	if !out {
		call = "__pmDecodeAttr"
		if a.Key == pdu.AttrNone {
			text = maskLogin(text)
		}
	}
	s.debug.write(pmlog.DumpAttr(call, a.Key, len(a.Value), text))
}

// maskLogin is what may be seen of a message of a client that logs in: the name of the mechanism.
func maskLogin(message string) string {
	name, _, more := strings.Cut(message, "\x00")
	switch known := slices.ContainsFunc(sasl.Mechanisms(), func(m sasl.Mechanism) bool { return strings.EqualFold(m.Name, name) }); {
	case !known:
		return "***"
	case more:
		return name + ".***"
	}
	return name
}

// debugAgentPDU writes what C pmcd says of a PDU of an agent in another process, beside the PDU itself.
func (s *Server) debugAgentPDU(a *agent, out bool, h pdu.Header, body []byte) {
	var p pdu.Attr
	switch {
	case h.Kind == pdu.KindInstance || h.Kind == pdu.KindLabel:
		s.debugMetadata(out, h.Kind, body)
	case h.Kind != pdu.KindAttr && s.debug.is(debugContext):
		s.debugContext(out, h, body)
	case h.Kind == pdu.KindAttr && s.debug.is(debugAttr) && p.Decode(body) == nil:
		value := strings.TrimSuffix(string(p.Value), "\x00")
		s.debug.write(fmt.Sprintf("pmcd: send client[%d] attr %v=%s to daemon agent[%d]\n", h.From, p.Key, value, slices.Index(s.agents.Load().list, a)) +
			pmlog.DumpAttr("__pmSendAttr", p.Key, len(p.Value), string(p.Value)))
	}
}

// debugMetadata writes the instances or labels of a reply.
func (s *Server) debugMetadata(out bool, kind pdu.Kind, body []byte) {
	var b bytes.Buffer
	var instances pdu.InstanceReply
	var labels pdu.LabelReply
	switch {
	case kind == pdu.KindInstance && s.debug.is(debugInDom) && instances.Decode(body) == nil:
		pmlog.DumpInstances(&b, &instances, instances.InDom, instances.Instances)
	case kind == pdu.KindLabel && s.debug.is(debugLabels) && labels.Decode(body) == nil:
		call := "__pmDecodeLabel"
		if out {
			call = "__pmSendLabel"
		}
		pmlog.DumpLabels(&b, call, &labels, &labels)
	default:
		return
	}
	s.debug.write(b.String())
}

// debugContext writes what the option context shows of a PDU: credentials and errors.
func (s *Server) debugContext(out bool, h pdu.Header, body []byte) {
	switch {
	case h.Kind == pdu.KindCreds:
		for i := 4; i+4 <= len(body); i += 4 {
			if out {
				s.debug.write(fmt.Sprintf("__pmSendCreds: #%d = %x\n", i/4-1, binary.BigEndian.Uint32(body[i:])))
			} else {
				s.debug.write(fmt.Sprintf("__pmDecodeCreds: #%d = { type=0x%x a=0x%x b=0x%x c=0x%x }\n", i/4-1, body[i], body[i+1], body[i+2], body[i+3]))
			}
		}
	case h.Kind == pdu.KindError && len(body) == 4:
		code := int32(binary.BigEndian.Uint32(body))
		if out {
			s.debug.write(fmt.Sprintf("__pmSendError: sending error PDU (code=%d, toversion=%d)\n", code, pdu.ProtocolVersion))
		} else {
			s.debug.write(fmt.Sprintf("__pmDecodeError: got error PDU (code=%d, fromversion=%d)\n", code, pdu.ProtocolVersion))
		}
	}
}

// debugEndContext is what is to be written when an agent was told of a client's end.
func (s *Server) debugEndContext(a *agent, info *pmda.Client) string {
	if !s.debug.is(debugContext) {
		return ""
	}
	kind := "DSO"
	if a.local == nil {
		kind = "daemon"
	}
	return fmt.Sprintf("NotifyEndContext: %s PMDA %s (%d) notified of context %d close\n", kind, a.name(), a.domain(), info.ID)
}
