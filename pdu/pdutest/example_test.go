package pdutest_test

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
)

// A printer stands for the *testing.T that a test has.
type printer struct {
	testing.TB
	failed  atomic.Bool
	cleanup []func()
}

func (*printer) Helper()                     {}
func (p *printer) Failed() bool              { return p.failed.Load() }
func (p *printer) Cleanup(f func())          { p.cleanup = append(p.cleanup, f) }
func (p *printer) Errorf(s string, a ...any) { p.failed.Store(true); fmt.Printf(s+"\n", a...) }

func (p *printer) end() {
	for _, f := range p.cleanup {
		f()
	}
}

// typeOf is the client under test: it requests the type of a metric.
func typeOf(conn net.Conn, id pdu.PMID) (pdu.Type, error) {
	c := pdu.NewConn(conn)
	if _, err := pdu.ClientHello(c, 1, 0); err != nil {
		return 0, err
	}
	if err := c.Write(0, pdu.DescReq{PMID: id}); err != nil {
		return 0, err
	}
	h, body, err := c.Read()
	if err != nil {
		return 0, err
	}
	p, err := pdu.Decode(h.Kind, body)
	if err != nil {
		return 0, err
	}
	switch p := p.(type) {
	case *pdu.DescReply:
		return p.Desc.Type, nil
	case *pdu.Status:
		return 0, p.Code
	}
	return 0, h.Unexpected(pdu.KindDesc)
}

// A collector that knows one metric, and expects its requests in one order.
func ExampleServe() {
	t := new(printer) // in a test, its *testing.T
	defer t.end()
	load := pdu.MakePMID(60, 2, 0)

	conn := pdutest.Serve(t,
		pdutest.AcceptClient(0),
		pdutest.Expect(pdu.DescReq{PMID: load}),
		pdutest.Send(pdu.DescReply{Desc: pdu.Desc{PMID: load, Type: pdu.TypeFloat}}),
	)
	fmt.Println(typeOf(conn, load))
	// Output: FLOAT <nil>
}

// What a test prints when the code under test does not keep to the script.
func ExampleExpect() {
	t := new(printer)
	conn := pdutest.Serve(t,
		pdutest.AcceptClient(0),
		pdutest.Expect(pdu.DescReq{PMID: pdu.MakePMID(60, 2, 0)}),
	)
	_, err := typeOf(conn, pdu.MakePMID(60, 2, 1))
	t.end()
	fmt.Println(err)
	// Output:
	// pdutest: step 2 of 2: not what was expected (-want +got):
	//   DESC_REQ from 0
	// -   &{PMID:60.2.0}
	// +   &{PMID:60.2.1}
	//
	// EOF
}

// A collector that replies to requests in any order.
func ExampleHandle() {
	t := new(printer)
	defer t.end()
	collector := func(_ pdu.Header, p pdu.PDU) []pdu.PDU {
		switch p := p.(type) {
		case *pdu.SetProfile:
			return nil // PROFILE has no reply
		case *pdu.DescReq:
			if p.PMID.Domain() != 60 {
				return []pdu.PDU{pdu.Status{Code: pdu.ErrPMID}}
			}
			return []pdu.PDU{pdu.DescReply{Desc: pdu.Desc{PMID: p.PMID, Type: pdu.TypeU64}}}
		}
		return []pdu.PDU{pdu.Status{Code: pdu.ErrIPC}}
	}
	for _, id := range []pdu.PMID{pdu.MakePMID(60, 0, 1), pdu.MakePMID(2, 0, 1)} {
		conn := pdutest.Serve(t, pdutest.AcceptClient(0), pdutest.Handle(collector))
		typ, err := typeOf(conn, id)
		fmt.Println(typ, err, errors.Is(err, pdu.ErrPMID))
	}
	// Output:
	// U64 <nil> false
	// 32 Unknown or illegal metric identifier true
}
