package oddity

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Trouble is what happens between a tool and its collector. The zero value is none.
type Trouble struct {
	// Hidden are features that the collector is not to have.
	Hidden pdu.Features
	// Kinds are those of the requests that go wrong: the Nth of all of them, from 1.
	Kinds []pdu.Kind
	N     int
	// Code is the answer. 0 hangs up.
	Code pdu.Error
}

// Start stands between a collector and its clients, each of which has the trouble. It ends with the test. host is for -h.
func (tr Trouble) Start(t testing.TB, collector string) (host string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { tr.between(client, collector) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		conns.Wait()
	})
	return ln.Addr().String()
}

// between hands PDUs on, a question and its answer in turn, until one side closes its connection.
func (tr Trouble) between(client net.Conn, collector string) {
	defer client.Close()
	server, err := net.Dial("tcp", collector)
	if err != nil {
		return
	}
	defer server.Close()
	limit := time.Now().Add(time.Minute)
	client.SetDeadline(limit)
	server.SetDeadline(limit)
	in, out := pdu.NewConn(client), pdu.NewConn(server)
	if tr.greet(in, out) != nil {
		return
	}
	for n := 0; ; {
		h, body, err := in.Read()
		if err != nil {
			return
		}
		concerned := slices.Contains(tr.Kinds, h.Kind)
		if concerned {
			n++
		}
		switch {
		case !concerned || n != tr.N:
			err = exchange(in, out, h, body)
		case tr.Code == 0:
			return
		default:
			err = in.Write(0, pdu.Status{Code: tr.Code})
		}
		if err != nil {
			return
		}
	}
}

// greet hands the collector's greeting on.
func (tr Trouble) greet(in, out *pdu.Conn) error {
	_, body, err := out.Read()
	if err != nil {
		return err
	}
	var c pdu.Challenge
	if err := c.Decode(body); err != nil {
		return err
	}
	c.Features &^= tr.Hidden
	return in.Write(0, c)
}

// exchange hands on a PDU of the client, and the answer if it has one.
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

// asIs is a PDU with the body that it came with.
type asIs struct {
	kind pdu.Kind
	body []byte
}

func (p asIs) Kind() pdu.Kind { return p.kind }

func (p asIs) Append(b []byte) ([]byte, error) { return append(b, p.body...), nil }
