package tool

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A hostDebug prints what debug options show of a connection to a collector: pdu the PDUs, context
// how it is made, profile which instances are asked for, and what a pduDebug prints. It is for one
// connection.
type hostDebug struct {
	w                      io.Writer
	pdus, context, profile bool

	about pduDebug
	quiet bool // while names are looked up for what is printed

	spec, host, ports string // of the collector; the host may be the path of a socket
	network, addr     string // of the latest attempt
}

// debugFD is the file descriptor of connections in debug output: the first that a C program gets.
const debugFD = 3

// newHostDebug makes a Dialer print, nil if no option wants it to.
func (c *Command) newHostDebug(spec string, d *pmapi.Dialer) *hostDebug {
	on := pmlog.DebugOn(c.Debug)
	h := &hostDebug{w: c.stderr(), pdus: on["pdu"], context: on["context"], profile: on["profile"], spec: spec}
	h.about = pduDebug{w: h.w, pmns: on["pmns"], indom: on["indom"], labels: on["labels"], attr: on["attr"]}
	if !h.pdus && !h.context && !h.profile && !h.about.any() {
		return nil
	}
	h.setHost(d)
	dial := d.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		h.network, h.addr = network, addr
		h.contextf("__pmSetSocketIPC: fd=%d\nIPC table fd(PDU version):\n", debugFD)
		return dial(ctx, network, addr)
	}
	d.Trace = h.trace
	return h
}

// setHost sets the host and its ports, as far as the specification can be used.
func (h *hostDebug) setHost(d *pmapi.Dialer) {
	spec, err := pmapi.ParseHost(h.spec)
	if err != nil {
		return
	}
	ports := spec.Host.Ports
	if len(ports) == 0 {
		ports = d.Ports
	}
	if len(ports) == 0 {
		ports = []int{pmapi.DefaultPort}
	}
	h.host = spec.Host.Name
	if spec.Protocol == pmapi.ProtocolUnix || spec.Protocol == pmapi.ProtocolLocal {
		if h.host = spec.Path; h.host == "" {
			h.host = d.Socket
		}
	}
	if spec.Protocol == pmapi.ProtocolUnix {
		return
	}
	for _, p := range ports {
		h.ports += "," + strconv.Itoa(p)
	}
	h.ports = strings.TrimPrefix(h.ports, ",")
}

func (h *hostDebug) contextf(format string, args ...any) {
	if h.context {
		fmt.Fprintf(h.w, format, args...)
	}
}

// trace prints a PDU, and what the C library says about it.
func (h *hostDebug) trace(out bool, head pdu.Header, body []byte) {
	if h.quiet {
		return
	}
	if out {
		h.sending(head.Kind, body)
		h.about.sending(head.Kind, body)
	}
	if h.pdus {
		shown := body
		if out && head.Kind == pdu.KindAttr {
			shown = nil // it may have a password, which PCP prints
		}
		io.WriteString(h.w, pmlog.DumpPDU(out, debugFD, head, shown))
	}
	if !out {
		h.about.received(head.Kind, body)
	}
	switch {
	case !out && head.Kind == pdu.KindError:
		h.received(body)
	case out && head.Kind == pdu.KindCreds:
		h.contextf("__pmConnectPMCD(%s): pmcd connection %s fd=%d PDU version=2\nIPC table fd(PDU version): %d(2,1)\n", h.host, h.place(), debugFD, debugFD)
	}
}

// place is where a connection has been made to.
func (h *hostDebug) place() string {
	if h.network == "unix" {
		return "path=" + h.addr
	}
	_, port, _ := net.SplitHostPort(h.addr)
	return "port=" + port
}

// sending prints what comes before a PDU that is sent.
func (h *hostDebug) sending(kind pdu.Kind, body []byte) {
	switch kind {
	case pdu.KindCreds:
		for i := 4; i+4 <= len(body); i += 4 {
			h.contextf("__pmSendCreds: #%d = %x\n", i/4-1, binary.BigEndian.Uint32(body[i:]))
		}
	case pdu.KindProfile:
		var p pdu.SetProfile
		if !h.profile || p.Decode(body) != nil {
			return
		}
		fmt.Fprintf(h.w, "pmFetch: calling __pmSendProfile, context: %d slot: 0\n", p.Context)
		printProfile(h.w, &p.Profile)
	}
}

// received prints what is said of a PDU of kind ERROR: the first is a pdu.Challenge.
func (h *hostDebug) received(body []byte) {
	var challenge pdu.Challenge
	var status pdu.Status
	switch {
	case len(body) == 8 && challenge.Decode(body) == nil:
		h.contextf("__pmDecodeXtendError: got error PDU (code=%d, datum=%d, version=%d)\n", challenge.Code, binary.NativeEndian.Uint32(body[4:]), challenge.Version)
		h.contextf("__pmSetFeaturesIPC: fd=%d version=%d features=%d\nIPC table fd(PDU version): %d(%d,1)\n",
			debugFD, challenge.Version, challenge.Features, debugFD, challenge.Version)
	case status.Decode(body) == nil:
		h.contextf("__pmDecodeError: got error PDU (code=%d, fromversion=2)\n", status.Code)
	}
}

// dialed prints the end of making a connection.
func (h *hostDebug) dialed(err error) {
	switch {
	case h == nil:
	case err != nil && h.host == "": // it follows what is wrong with the specification
	case err != nil:
		h.contextf("__pmConnectPMCD(%s): pmcd connection port=%s failed: %v\n", h.host, h.ports, pdu.FromError(err))
		io.WriteString(h.w, h.failed(err))
	case h.context:
		h.contextf("pmNewContext(1, %s) -> 0\nDump Contexts: current -> contexts[0] handle 0\n", pmapi.RedactHost(h.spec))
		h.contextf("contexts[0] handle 0: host %s: pmcd=CONNECTED profile=NOT_SENT fd=%d origin=0.000000000 delta=0.000000000\n", h.host, debugFD)
		printProfile(h.w, new(pdu.Profile))
	}
}

// failed is what the option context shows of a context that cannot be opened.
func (h *hostDebug) failed(err error) string {
	if h == nil || !h.context {
		return ""
	}
	return fmt.Sprintf("pmNewContext(1, %s) -> %d, curr_handle=-1\n", pmapi.RedactHost(h.spec), pdu.FromError(err))
}

// printProfile prints a profile as the C library does.
func printProfile(w io.Writer, p *pdu.Profile) {
	state := func(exclude bool) string {
		if exclude {
			return "EXCLUDE"
		}
		return "INCLUDE"
	}
	fmt.Fprintf(w, "Dump Instance Profile state=%s, %d profiles\n", state(p.Exclude), len(p.InDoms))
	for i, d := range p.InDoms {
		fmt.Fprintf(w, "\tProfile [%d] indom=%d [%v] state=%s %d instances\n", i, d.InDom, d.InDom, state(d.Exclude), len(d.Insts))
		if len(d.Insts) > 0 {
			io.WriteString(w, "\t\tInstances:")
			for _, inst := range d.Insts {
				fmt.Fprintf(w, " [%d]", inst)
			}
			io.WriteString(w, "\n")
		}
	}
}
