package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A testClient is a client of the collector under test. What ought not to go wrong
// fails the test.
type testClient struct {
	t    testing.TB
	net  net.Conn
	conn *pdu.Conn
}

// newTestClient is a client at the end of a connection, which has sent nothing yet.
func newTestClient(t testing.TB, n net.Conn) *testClient {
	t.Cleanup(func() { n.Close() })
	return &testClient{t: t, net: n, conn: pdu.NewConn(n)}
}

// connect is a client in this process that has sent nothing yet.
func connect(t testing.TB, s *Server) *testClient {
	t.Helper()
	n, err := s.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return newTestClient(t, n)
}

// connectTCP is a client over TCP that has sent nothing yet.
func connectTCP(t testing.TB, addr string) *testClient {
	t.Helper()
	n, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return newTestClient(t, n)
}

// newClientOf is a client in this process that has introduced itself.
func newClientOf(t testing.TB, s *Server) *testClient {
	t.Helper()
	return connect(t, s).hello()
}

// hello introduces the client, and selects all instances in its context 0.
func (c *testClient) hello() *testClient {
	c.t.Helper()
	if _, err := pdu.ClientHello(c.conn, 1, 0); err != nil {
		c.t.Fatal(err)
	}
	c.send(pdu.SetProfile{})
	return c
}

// send sends PDUs.
func (c *testClient) send(pdus ...pdu.PDU) {
	c.t.Helper()
	for _, p := range pdus {
		if err := c.conn.Queue(0, p); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.conn.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

// sendBytes sends bytes that need not be a PDU. The collector may close the
// connection before it has read them.
func (c *testClient) sendBytes(b []byte) {
	c.t.Helper()
	c.net.SetWriteDeadline(time.Now().Add(replyTimeout))
	if _, err := c.net.Write(b); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.t.Logf("write: %v", err)
	}
}

// replyTimeout is how long a test waits for a PDU: one that waits for ever says
// nothing.
const replyTimeout = 2 * time.Minute

func (c *testClient) read() (pdu.Header, []byte, error) {
	c.net.SetReadDeadline(time.Now().Add(replyTimeout))
	return c.conn.Read()
}

// receive is the next PDU that comes, as described by describe.
func (c *testClient) receive() string {
	c.t.Helper()
	h, body, err := c.read()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return c.describe(h, body)
}

func (c *testClient) describe(h pdu.Header, body []byte) string {
	c.t.Helper()
	p, err := pdu.Decode(h.Kind, bytes.Clone(body))
	if err != nil {
		c.t.Fatalf("decode %v: %v", h.Kind, err)
	}
	return describe(p)
}

// request is send and receive.
func (c *testClient) request(p pdu.PDU) string {
	c.t.Helper()
	c.send(p)
	return c.receive()
}

// receiveAll waits until the collector closes the connection, and returns what
// came before.
func (c *testClient) receiveAll() string {
	c.t.Helper()
	var all []string
	for {
		h, body, err := c.read()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.t.Fatal("the connection stays open")
			}
			return strings.Join(all, "\n")
		}
		all = append(all, c.describe(h, body))
	}
}

// reply is the next PDU that does not tell of a state change.
func (c *testClient) reply() (pdu.Kind, []byte) {
	c.t.Helper()
	for {
		h, body, err := c.read()
		if err != nil {
			c.t.Fatal(err)
		}
		var s pdu.Status
		if h.Kind != pdu.KindError || s.Decode(body) != nil || s.Code <= 0 {
			return h.Kind, body
		}
	}
}

// roundTrip is send and reply.
func (c *testClient) roundTrip(p pdu.PDU) (pdu.Kind, []byte) {
	c.t.Helper()
	c.send(p)
	return c.reply()
}

// code is the error that a request is replied to with, 0 if it succeeds.
func (c *testClient) code(p pdu.PDU) pdu.Error {
	c.t.Helper()
	kind, body := c.roundTrip(p)
	var s pdu.Status
	if kind == pdu.KindError {
		if err := s.Decode(body); err != nil {
			c.t.Fatal(err)
		}
	}
	return s.Code
}

// fetch is the result of a fetch in context 0.
func (c *testClient) fetch(ids ...pdu.PMID) *pdu.Result {
	c.t.Helper()
	kind, body := c.roundTrip(pdu.Fetch{PMIDs: ids})
	res := new(pdu.Result)
	if err := res.Decode(body); kind != pdu.KindResult || err != nil || res.Len() != len(ids) {
		c.t.Fatalf("fetch was replied to with %v of %d metrics: %v", kind, res.Len(), err)
	}
	return res
}

// fetchCodes is the error of each metric of a fetch, 0 for one whose only value is
// its item, or 1 if that is 0.
func (c *testClient) fetchCodes(ids ...pdu.PMID) []pdu.Error {
	c.t.Helper()
	codes := make([]pdu.Error, len(ids))
	for i, s := range c.fetch(ids...).All() {
		codes[i] = pdu.FromError(s.Err())
		if codes[i] != 0 {
			continue
		}
		if s.Len() != 1 {
			c.t.Fatalf("%v has %d values", s.PMID, s.Len())
		}
		if v, err := pdu.As[uint64](s.Atom(0, pdu.TypeU64)); err != nil || int(v) != max(s.PMID.Item(), 1) {
			c.t.Errorf("%v has the value %d, %v", s.PMID, v, err)
		}
	}
	return codes
}

// fetchExact is the error of each metric of a fetch of exactAgents, 0 for one whose
// values are true.
func (c *testClient) fetchExact(ids ...pdu.PMID) []pdu.Error {
	c.t.Helper()
	codes := make([]pdu.Error, len(ids))
	for i, s := range c.fetch(ids...).All() {
		codes[i] = pdu.FromError(s.Err())
		d := expectedDesc(ids[i])
		if s.PMID != ids[i] || codes[i] == 0 && s.Len() != len(expectedInsts(d.InDom, nil)) {
			c.t.Errorf("%v was replied to with %v of %d values", ids[i], s.PMID, s.Len())
		}
		for inst, a := range s.All(d.Type) {
			if !a.Equal(expectedAtom(s.PMID, inst)) {
				c.t.Errorf("%v instance %d: %v", s.PMID, inst, a)
			}
		}
	}
	return codes
}

// describe is a PDU in short: an error's text, the values of a result, or all
// fields.
func describe(p pdu.PDU) string {
	switch p := p.(type) {
	case *pdu.Status:
		switch {
		case p.Code > 0:
			return "change: " + p.Change().String()
		case p.Code == 0:
			return "success"
		}
		return "error: " + p.Code.Error()
	case *pdu.Challenge:
		if p.Code != 0 {
			return "refused: " + p.Code.Error()
		}
		return fmt.Sprintf("challenge %#x", int(p.Features))
	case *pdu.Result:
		var sets []string
		for _, s := range p.All() {
			var values []string
			if err := s.Err(); err != nil {
				values = append(values, err.Error())
			}
			for i, a := range s.All(pdu.TypeU32) {
				values = append(values, fmt.Sprintf("%d=%v", i, a))
			}
			sets = append(sets, fmt.Sprintf("%v %s", s.PMID, strings.Join(values, ",")))
		}
		return p.Kind().String() + " " + strings.Join(sets, "; ")
	case *pdu.LabelReply:
		text := fmt.Sprintf("labels of %#x", p.Ident)
		for _, s := range p.Sets {
			text += fmt.Sprintf(" %d%s", s.Inst, s.JSON)
		}
		return text
	}
	return strings.TrimPrefix(fmt.Sprintf("%+v", p), "&")
}
