package faulty

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A Fault is a fault between a tool and its collector, which Start simulates. The zero value has no
// fault.
type Fault struct {
	// Hidden are features of the collector that the tool does not see.
	Hidden pdu.Features
	// The Nth request of these kinds fails. N starts at 1.
	Kinds []pdu.Kind
	N     int
	// Code is the reply to that request. 0 closes the connection.
	Code pdu.Error
}

// Start runs a proxy of a collector. Each of its connections has the fault. It ends with the test.
// host is the proxy's address, for -h.
func (f Fault) Start(t testing.TB, collector string) (host string) {
	t.Helper()
	return pcptest.Serve(t, func(client net.Conn) { f.proxy(client, collector) })
}

// proxy forwards PDUs, a request and its reply in turn, until one side closes its connection.
func (f Fault) proxy(client net.Conn, collector string) {
	server, err := net.Dial("tcp", collector)
	if err != nil {
		return
	}
	defer server.Close()
	server.SetDeadline(time.Now().Add(time.Minute))
	in, out := pdu.NewConn(client), pdu.NewConn(server)
	if f.greet(in, out) != nil {
		return
	}
	for n := 0; ; {
		h, body, err := in.Read()
		if err != nil {
			return
		}
		counted := slices.Contains(f.Kinds, h.Kind)
		if counted {
			n++
		}
		switch {
		case !counted || n != f.N:
			err = exchange(in, out, h, body)
		case f.Code == 0:
			return
		default:
			err = in.Write(0, pdu.Status{Code: f.Code})
		}
		if err != nil {
			return
		}
	}
}

// greet forwards the collector's greeting.
func (f Fault) greet(in, out *pdu.Conn) error {
	_, body, err := out.Read()
	if err != nil {
		return err
	}
	var c pdu.Challenge
	if err := c.Decode(body); err != nil {
		return err
	}
	c.Features &^= f.Hidden
	return in.Write(0, c)
}

// exchange forwards a PDU of the client, and the reply if it has one.
func exchange(in, out *pdu.Conn, h pdu.Header, body []byte) error {
	if err := out.Write(h.From, asIs{h.Kind, body}); err != nil || h.Kind == pdu.KindCreds || h.Kind == pdu.KindProfile {
		return err
	}
	for {
		h, body, err := out.Read()
		if err != nil {
			return err
		}
		if err := in.Write(h.From, asIs{h.Kind, body}); err != nil {
			return err
		}
		var s pdu.Status
		if h.Kind != pdu.KindError || s.Decode(body) != nil || s.Change() == 0 {
			return nil
		}
	}
}

// asIs is a PDU with an encoded body.
type asIs struct {
	kind pdu.Kind
	body []byte
}

func (p asIs) Kind() pdu.Kind { return p.kind }

func (p asIs) Append(b []byte) ([]byte, error) { return append(b, p.body...), nil }
