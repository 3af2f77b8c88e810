package collector

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
)

// A debugOutput is where the Server writes what C pmcd does with its debug options.
type debugOutput struct {
	w  io.Writer     // nil for none
	on atomic.Uint32 // debugOptions
	mu sync.Mutex    // held to write
}

// A debugOption is one of the debug options that the Server knows, but for pdu, which is a flag of the trace.
type debugOption uint32

const (
	debugAppl0 debugOption = 1 << iota
	debugAccess
	debugAttr
	debugAuth
	debugContext
	debugPMNS
	debugPMAPI
	debugInDom
	debugLabels
)

// debugPDUs are the options that show something of PDUs of clients, beside the PDUs themselves.
const debugPDUs = debugAttr | debugContext | debugPMNS | debugPMAPI | debugInDom | debugLabels

var debugOptions = map[string]debugOption{
	"access": debugAccess, "appl0": debugAppl0, "attr": debugAttr, "auth": debugAuth, "context": debugContext,
	"pmns": debugPMNS, "pmapi": debugPMAPI, "indom": debugInDom, "labels": debugLabels,
}

// startDebug turns on the debug options of the fields.
func (s *Server) startDebug() {
	if len(s.Debug) > 0 || s.DebugWriter != nil {
		if s.debug.w = s.DebugWriter; s.debug.w == nil {
			s.debug.w = os.Stderr
		}
	}
	s.setDebug(s.Debug)
}

// setDebug makes those debug options be on. A Server without a writer for them has the log say what PDUs there are.
func (s *Server) setDebug(on map[string]bool) {
	var set debugOption
	for name, o := range debugOptions {
		if on[name] && s.debug.w != nil {
			set |= o
		}
	}
	s.debug.on.Store(uint32(set))
	s.trace.Set(eventtrace.Debug, on["pdu"])
}

// is reports whether an option is on.
func (d *debugOutput) is(o debugOption) bool { return debugOption(d.on.Load())&o != 0 }

func (d *debugOutput) write(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	io.WriteString(d.w, text) // nobody could be told of an error
}

// debugPDU writes a PDU, if that is wanted at all; false if only the log may want to know of it.
func (s *Server) debugPDU(out bool, fd int, h pdu.Header, body []byte) bool {
	if s.debug.w == nil || !s.trace.Any(eventtrace.Debug) {
		return false
	}
	if h.Kind == pdu.KindAttr {
		body = nil // it may have a password
	}
	s.debug.write(pmlog.DumpPDU(out, fd, h, body))
	return true
}

// debugAgent writes that an agent has started; p is nil if it is in this process.
func (s *Server) debugAgent(a *agent, p *process) {
	switch {
	case !s.debug.is(debugAppl0):
	case p == nil:
		s.debug.write(fmt.Sprintf("pmcd: started DSO PMDA %s (%d) in this process, PDU version=%d\n", a.name(), a.domain(), pdu.ProtocolVersion))
	default:
		s.debug.write(fmt.Sprintf("pmcd: started PMDA %s (%d), pid=%d\n", a.name(), a.domain(), p.childPID()))
	}
}

// debugAccept writes that a client has come, and where.
func (s *Server) debugAccept(c *client) {
	info := c.info.Load()
	if !s.debug.is(debugAppl0) || info == nil {
		return
	}
	var text string
	l, fd := s.listenerOf(c.conn)
	if l != nil {
		text = fmt.Sprintf("DATA: from pmcd %s request socket %s (fd %d)\n", debugFamily(l.Addr()), debugPlace(l.Addr()), fd)
	}
	s.debug.write(text + fmt.Sprintf("AcceptNewClient(%d): client[%d] (fd %d)\n", fd, info.ID, rawconn.Descriptor(c.conn)))
}

// debugFamily is how C pmcd calls the sort of an address.
func debugFamily(a net.Addr) string {
	switch t, ok := a.(*net.TCPAddr); {
	case !ok:
		return a.Network()
	case t.IP.To4() == nil:
		return "ipv6"
	}
	return "inet"
}

// debugPlace is an address without its port.
func debugPlace(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return a.String()
}

// listenerOf is the listener that has accepted a connection, and its descriptor; nil and -1 if there is none.
func (s *Server) listenerOf(conn net.Conn) (net.Listener, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	local := conn.LocalAddr()
	for _, l := range s.listeners {
		a, b := l.Addr(), local
		if t, ok := a.(*net.TCPAddr); ok {
			if c, ok := b.(*net.TCPAddr); !ok || t.Port != c.Port || !t.IP.IsUnspecified() && !t.IP.Equal(c.IP) {
				continue
			}
		} else if a.Network() != b.Network() || a.String() != b.String() {
			continue
		}
		return l, rawconn.Descriptor(l)
	}
	return nil, -1
}

// debugFetch writes what is asked for of each agent, in the order in which pmcd asks.
func (s *Server) debugFetch(calls []*fetchCall) {
	if !s.debug.is(debugAppl0) {
		return
	}
	var b bytes.Buffer
	for _, a := range s.agents.Load().list {
		i := slices.IndexFunc(calls, func(k *fetchCall) bool { return k.agent == a })
		if i < 0 {
			continue
		}
		fmt.Fprintf(&b, "SendFetch %d metrics to PMDA domain %d (%v)\n", len(calls[i].ids), a.domain(), a.kind)
		for j, id := range calls[i].ids {
			fmt.Fprintf(&b, "  pmid[%d] %v\n", j, id)
		}
	}
	s.debug.write(b.String())
}

// debugData writes that something has come from a client, and the table of clients unless that is the end.
func (s *Server) debugData(c *client, end bool) {
	if !s.debug.is(debugAppl0) {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "DATA: from client[%d] input socket (fd %d)\n", c.info.Load().ID, rawconn.Descriptor(c.conn))
	if !end {
		_ = s.WriteClients(&b) // a Buffer takes all
		b.WriteByte('\n')
	}
	s.debug.write(b.String())
}

// debugFailure writes that a client gets an error.
func (s *Server) debugFailure(c *client, k pdu.Kind, err error) {
	if s.debug.is(debugAppl0) {
		s.debug.write(fmt.Sprintf("PDU:  %v client[%d]: %v\n", k, c.info.Load().ID, failure(err)))
	}
}

// debugEnd is what is to be written of a client's end, nil if it just closed the connection.
func (s *Server) debugEnd(c *client, err error) string {
	info := c.info.Load()
	if !s.debug.is(debugAppl0) || info == nil {
		return ""
	}
	text, code := "No error", pdu.Error(0)
	if err != nil {
		code = pdu.FromError(err)
		text = code.Error()
	}
	return fmt.Sprintf("endclient client[%d]: (fd %d) %s (%d)\n", info.ID, rawconn.Descriptor(c.conn), text, int32(code))
}
