package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
	"github.com/pcp-go/pcp/pmda/internal/access"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// startTrace sets the flags of the event trace.
func (s *Server) startTrace(t Trace) {
	s.trace.Set(eventtrace.Conns, t&TraceConnections != 0)
	s.trace.Set(eventtrace.PDUs, t&TracePDUs != 0)
	s.trace.Set(eventtrace.Unbuffered, t&TraceUnbuffered != 0)
}

// traceClient records that a client has connected or disconnected. err is nil if the client just
// closed the connection.
func (s *Server) traceClient(c *client, came bool, err error) {
	if !s.trace.Any(eventtrace.Conns) {
		return
	}
	info := c.info.Load()
	if info == nil { // never had a slot
		return
	}
	var text string
	if came {
		text = fmt.Sprintf("New client: [%d] addr=%s, fd=%d, seq=%d", info.ID, peerName(c.conn), rawconn.Descriptor(c.conn), info.Seq)
	} else {
		text = fmt.Sprintf("End client: [%d] fd=%d%s", info.ID, rawconn.Descriptor(c.conn), traceErr(err))
	}
	s.trace.Add(s.traceLog, eventtrace.Conns, text)
}

// traceAgent records that an agent was added or has ended. p is nil if the agent is in this
// process.
func (s *Server) traceAgent(a *agent, p *process, came bool) {
	if !s.trace.Any(eventtrace.Conns) {
		return
	}
	where := ", DSO"
	if p != nil {
		where = fmt.Sprintf(", infd=%d, outfd=%d", p.in, p.out)
	}
	what := "Drop"
	if came {
		what = "Add"
	}
	s.trace.Add(s.traceLog, eventtrace.Conns, fmt.Sprintf("%s PMDA: domain=%d%s", what, a.domain(), where))
}

// dumpTrace logs the events before the end of an agent, if tracing is on.
func (s *Server) dumpTrace() {
	if s.trace.Any(eventtrace.Conns | eventtrace.PDUs) {
		s.trace.Dump(s.traceLog)
	}
}

// traceFailure records why a connection has become unusable, if the connection itself has failed.
func (s *Server) traceFailure(stream any, err error) {
	op, ok := errors.AsType[*pdu.OpError](err)
	if !ok || !s.trace.Any(eventtrace.Conns) {
		return
	}
	fd := rawconn.Descriptor(stream)
	var text string
	switch {
	case op.Op == "write":
		text = fmt.Sprintf("Send %s PDU failed: fd=%d%s", op.Kind, fd, traceErr(err))
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		text = fmt.Sprintf("Premature EOF: expecting NO PDU, fd=%d", fd)
	case errors.Is(err, os.ErrDeadlineExceeded):
		text = fmt.Sprintf("Recv timeout: expecting NO PDU, fd=%d", fd)
	default:
		text = fmt.Sprintf("Recv error: expecting NO PDU, fd=%d%s", fd, traceErr(err))
	}
	s.trace.Add(s.traceLog, eventtrace.Conns, text)
}

// traceErr formats an error as the last part of an event.
func traceErr(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(", err=%d: %v", int32(pdu.FromError(err)), err)
}

// tracePDU returns the function that records the PDUs of a client.
func (s *Server) tracePDU(conn any) func(out bool, h pdu.Header, body []byte) {
	return func(sent bool, h pdu.Header, body []byte) {
		if !s.trace.Any(eventtrace.PDUs | eventtrace.Debug) {
			return
		}
		kind, detail := h.Kind, pduDetail(h.Kind, body)
		if sent { // pmcd calls a reply by the name of its request
			switch kind {
			case pdu.KindResult:
				kind = pdu.KindFetch
			case pdu.KindHighResResult:
				kind, detail = pdu.KindHighResFetch, ""
			}
		}
		s.addPDU(sent, kind, conn, detail)
	}
}

// traceAgentPDU returns the function that records the PDUs of an agent and its error replies.
func (s *Server) traceAgentPDU(of remote.Stream) func(out bool, h pdu.Header, body []byte) {
	in, out := directions(of)
	var expected atomic.Uint32 // the kind of the reply to the request in progress
	return func(sent bool, h pdu.Header, body []byte) {
		if !s.trace.Any(eventtrace.Conns | eventtrace.PDUs | eventtrace.Debug) {
			return
		}
		stream := in
		if sent {
			stream = out
		}
		switch {
		case h.Kind == pdu.KindAttr: // pmcd does not trace these
		case sent && h.Kind == pdu.KindFetch:
			s.addPDU(sent, h.Kind, stream, "")
		default:
			s.addPDU(sent, h.Kind, stream, pduDetail(h.Kind, body))
		}
		switch {
		case sent && h.Kind != pdu.KindError:
			expected.Store(uint32(replyKind(h.Kind)))
		case !sent && h.Kind == pdu.KindError && expected.Load() != 0:
			s.traceReplyError(pdu.Kind(expected.Load()), stream, body)
		}
	}
}

// addPDU records a PDU.
func (s *Server) addPDU(sent bool, k pdu.Kind, stream any, detail string) {
	way := "Recv"
	if sent {
		way = "Xmit"
	}
	s.trace.Add(s.traceLog, eventtrace.PDUs, fmt.Sprintf("%s: %s PDU, fd=%d%s", way, k, rawconn.Descriptor(stream), detail))
}

// replyKind returns the kind of an agent's reply to a request whose failure pmcd traces. It
// returns 0 for other requests.
func replyKind(request pdu.Kind) pdu.Kind {
	switch request {
	case pdu.KindDescReq:
		return pdu.KindDesc
	case pdu.KindTextReq:
		return pdu.KindText
	case pdu.KindInstanceReq:
		return pdu.KindInstance
	case pdu.KindFetch, pdu.KindResult:
		return pdu.KindResult
	}
	return 0
}

// traceReplyError records an error reply of an agent in place of the expected PDU.
func (s *Server) traceReplyError(expected pdu.Kind, stream any, body []byte) {
	p, err := pdu.Decode(pdu.KindError, body)
	if status, ok := p.(*pdu.Status); err == nil && ok && status.Code < 0 && s.trace.Any(eventtrace.Conns) {
		s.trace.Add(s.traceLog, eventtrace.Conns,
			fmt.Sprintf("Recv error: expecting %s PDU, fd=%d%s", expected, rawconn.Descriptor(stream), traceErr(status.Code)))
	}
}

// pduDetail returns what a traced PDU is about. It must not keep body.
func pduDetail(k pdu.Kind, body []byte) string {
	p, err := pdu.Decode(k, body)
	if err != nil {
		return fmt.Sprintf(", err=%d: %v", int32(pdu.FromError(err)), pdu.FromError(err))
	}
	switch p := p.(type) {
	case *pdu.Challenge:
		return fmt.Sprintf(", err=%d: %v", int32(p.Code), p.Code)
	case *pdu.Status:
		if p.Code > 0 {
			return fmt.Sprintf(", change=%d: %v", int32(p.Code), pdu.Change(p.Code))
		}
		return fmt.Sprintf(", err=%d: %v", int32(p.Code), p.Code)
	case *pdu.DescReq:
		return fmt.Sprintf(", pmid=%v", p.PMID)
	case *pdu.DescReply:
		return fmt.Sprintf(", pmid=%v", p.Desc.PMID)
	case *pdu.TextReq:
		return fmt.Sprintf(", id=%#x", p.Ident)
	case *pdu.TextReply:
		return fmt.Sprintf(", id=%#x", p.Ident)
	case *pdu.InstanceReq:
		return fmt.Sprintf(", indom=%v", p.InDom)
	case *pdu.InstanceReply:
		return fmt.Sprintf(", indom=%v", p.InDom)
	case *pdu.Creds:
		return ", numcreds=1"
	}
	if n, ok := countMetrics(p); ok {
		return fmt.Sprintf(", numpmid=%d", n)
	}
	return ""
}

// countMetrics returns the number of metrics of a PDU, for the kinds that can have several.
func countMetrics(p pdu.PDU) (int, bool) {
	switch p := p.(type) {
	case *pdu.Fetch:
		return len(p.PMIDs), true
	case *pdu.Result:
		return p.Len(), true
	case *pdu.NameList:
		return len(p.Names), true
	case *pdu.PMIDList:
		return len(p.PMIDs), true
	case *pdu.DescsReq:
		return len(p.PMIDs), true
	case *pdu.DescsReply:
		return len(p.Descs), true
	}
	return 0, false
}

// logClients logs a table of the clients in the layout of pmcd.
func (s *Server) logClients() {
	var b strings.Builder
	fmt.Fprintf(&b, "\n->Current PMCD clients at %s\n", time.Now().Format(time.ANSIC))
	_ = s.WriteClients(&b) // a Builder does not fail
	s.log.Info(b.String())
}

// WriteClients writes a table of the clients in the layout of pmcd's log. The table has the host
// name of each client, or its address if the name is unknown. The lookups of host names take at
// most two seconds in total. The error is that of w.
func (s *Server) WriteClients(w io.Writer) error {
	s.init()
	var b strings.Builder
	b.WriteString("     fd  client connection from                    ipc ver  operations denied\n" +
		"     ==  ========================================  =======  =================\n")
	hosts := newHostNames(hostNamesTime)
	defer hosts.end()
	for _, c := range s.clientList() {
		fd := rawconn.Descriptor(c.conn) // before closed is read: then fd was that of the client
		if c.closed.Load() {
			continue
		}
		version := 0
		if c.hasCreds.Load() {
			version = pdu.ProtocolVersion
		}
		line := fmt.Sprintf("%7d  %-40s  %7d  %s", fd, hosts.of(c.conn), version, deniedNames(c))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// peerName returns the address of a client, for logs.
func peerName(c net.Conn) string {
	switch a := c.RemoteAddr().(type) {
	case *net.TCPAddr:
		return a.IP.String()
	case *net.UnixAddr:
		return c.LocalAddr().String() // the peer has no name
	}
	return "in-process"
}

// hostNamesTime limits the total time of the lookups of host names.
const hostNamesTime = 2 * time.Second

// hostNames looks up the names of clients' hosts, until its time is used up.
type hostNames struct {
	ctx    context.Context
	end    context.CancelFunc
	byAddr map[string]string
}

func newHostNames(limit time.Duration) *hostNames {
	ctx, end := context.WithTimeout(context.Background(), limit)
	return &hostNames{ctx, end, map[string]string{}}
}

// of returns the name of a client's host, or what peerName returns if the name is unknown.
func (h *hostNames) of(c net.Conn) string {
	addr := peerName(c)
	if _, ok := c.RemoteAddr().(*net.TCPAddr); !ok {
		return addr
	}
	name, known := h.byAddr[addr]
	if !known {
		name = addr
		if names, err := net.DefaultResolver.LookupAddr(h.ctx, addr); err == nil && len(names) > 0 {
			name = strings.TrimSuffix(names[0], ".")
		}
		h.byAddr[addr] = name
	}
	return name
}

// descriptors returns the file descriptors of the connection to an agent, or -1 for a side
// without a descriptor.
func (p *process) descriptors() (in, out int) {
	r, w := directions(p.stream)
	return rawconn.Descriptor(w), rawconn.Descriptor(r)
}

// directions returns the two sides of a stream to an agent.
func directions(s remote.Stream) (r, w any) {
	if s, ok := s.(*pipes); ok {
		return s.r, s.w
	}
	return s, s
}

// deniedNames returns the names of the operations that a client may not do.
func deniedNames(c *client) string {
	var names []string
	denied := access.Ops(c.denied.Load())
	if denied&access.OpFetch != 0 {
		names = append(names, "fetch")
	}
	if denied&access.OpStore != 0 {
		names = append(names, "store")
	}
	return strings.Join(names, " ")
}
