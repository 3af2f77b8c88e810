package collectortest

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

// A Client is a client of the collector under test. An unexpected error fails the test.
type Client struct {
	T    testing.TB
	Net  net.Conn
	Conn *pdu.Conn
}

// NewClient returns a client at the end of a connection. The client has sent nothing yet.
func NewClient(t testing.TB, n net.Conn) *Client {
	t.Cleanup(func() { n.Close() })
	return &Client{T: t, Net: n, Conn: pdu.NewConn(n)}
}

// Dial returns a client in this process that has sent nothing yet.
func Dial(t testing.TB, s Server) *Client {
	t.Helper()
	n, err := s.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(t, n)
}

// DialTCP returns a client over TCP that has sent nothing yet.
func DialTCP(t testing.TB, addr string) *Client {
	t.Helper()
	n, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(t, n)
}

// Connect is a client in this process that has introduced itself.
func Connect(t testing.TB, s Server) *Client {
	t.Helper()
	return Dial(t, s).Hello()
}

// Hello introduces the client, and selects all instances in its context 0.
func (c *Client) Hello() *Client {
	c.T.Helper()
	if _, err := pdu.ClientHello(c.Conn, 1, 0); err != nil {
		c.T.Fatal(err)
	}
	c.Send(pdu.SetProfile{})
	return c
}

// Send sends PDUs.
func (c *Client) Send(pdus ...pdu.PDU) {
	c.T.Helper()
	for _, p := range pdus {
		if err := c.Conn.Queue(0, p); err != nil {
			c.T.Fatal(err)
		}
	}
	if err := c.Conn.Flush(); err != nil {
		c.T.Fatal(err)
	}
}

// SendBytes sends bytes that need not be a PDU. The collector may close the
// connection before it has read them.
func (c *Client) SendBytes(b []byte) {
	c.T.Helper()
	c.Net.SetWriteDeadline(time.Now().Add(replyTimeout))
	if _, err := c.Net.Write(b); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.T.Logf("write: %v", err)
	}
}

// replyTimeout is how long a test waits for a PDU. A test that waits forever would report
// nothing.
const replyTimeout = 2 * time.Minute

// Read returns the next PDU.
func (c *Client) Read() (pdu.Header, []byte, error) {
	c.Net.SetReadDeadline(time.Now().Add(replyTimeout))
	return c.Conn.Read()
}

// Receive returns the next PDU, as described by Describe.
func (c *Client) Receive() string {
	c.T.Helper()
	h, body, err := c.Read()
	if err != nil {
		c.T.Fatalf("read: %v", err)
	}
	return c.describe(h, body)
}

func (c *Client) describe(h pdu.Header, body []byte) string {
	c.T.Helper()
	p, err := pdu.Decode(h.Kind, bytes.Clone(body))
	if err != nil {
		c.T.Fatalf("decode %v: %v", h.Kind, err)
	}
	return Describe(p)
}

// Request calls Send and Receive.
func (c *Client) Request(p pdu.PDU) string {
	c.T.Helper()
	c.Send(p)
	return c.Receive()
}

// ReceiveAll waits until the collector closes the connection, and returns the PDUs before that.
func (c *Client) ReceiveAll() string {
	c.T.Helper()
	var all []string
	for {
		h, body, err := c.Read()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.T.Fatal("the connection stays open")
			}
			return strings.Join(all, "\n")
		}
		all = append(all, c.describe(h, body))
	}
}

// Reply returns the next PDU that does not report a state change.
func (c *Client) Reply() (pdu.Kind, []byte) {
	c.T.Helper()
	for {
		h, body, err := c.Read()
		if err != nil {
			c.T.Fatal(err)
		}
		var s pdu.Status
		if h.Kind != pdu.KindError || s.Decode(body) != nil || s.Code <= 0 {
			return h.Kind, body
		}
	}
}

// RoundTrip calls Send and Reply.
func (c *Client) RoundTrip(p pdu.PDU) (pdu.Kind, []byte) {
	c.T.Helper()
	c.Send(p)
	return c.Reply()
}

// Code sends a request and returns the error of the reply, or 0 on success.
func (c *Client) Code(p pdu.PDU) pdu.Error {
	c.T.Helper()
	kind, body := c.RoundTrip(p)
	var s pdu.Status
	if kind == pdu.KindError {
		if err := s.Decode(body); err != nil {
			c.T.Fatal(err)
		}
	}
	return s.Code
}

// Fetch returns the result of a fetch in context 0.
func (c *Client) Fetch(ids ...pdu.PMID) *pdu.Result {
	c.T.Helper()
	kind, body := c.RoundTrip(pdu.Fetch{PMIDs: ids})
	res := new(pdu.Result)
	if err := res.Decode(body); kind != pdu.KindResult || err != nil || res.Len() != len(ids) {
		c.T.Fatalf("fetch was replied to with %v of %d metrics: %v", kind, res.Len(), err)
	}
	return res
}

// FetchCodes is the error of each metric of a fetch, 0 for one whose only value is
// its item, or 1 if that is 0.
func (c *Client) FetchCodes(ids ...pdu.PMID) []pdu.Error {
	c.T.Helper()
	codes := make([]pdu.Error, len(ids))
	for i, s := range c.Fetch(ids...).All() {
		codes[i] = pdu.FromError(s.Err())
		if codes[i] != 0 {
			continue
		}
		if s.Len() != 1 {
			c.T.Fatalf("%v has %d values", s.PMID, s.Len())
		}
		if v, err := pdu.As[uint64](s.Atom(0, pdu.TypeU64)); err != nil || int(v) != max(s.PMID.Item(), 1) {
			c.T.Errorf("%v has the value %d, %v", s.PMID, v, err)
		}
	}
	return codes
}

// FetchExact returns the error of each metric of a fetch from ExactAgents. It is 0 for correct
// values.
func (c *Client) FetchExact(ids ...pdu.PMID) []pdu.Error {
	c.T.Helper()
	codes := make([]pdu.Error, len(ids))
	for i, s := range c.Fetch(ids...).All() {
		codes[i] = pdu.FromError(s.Err())
		d := ExpectedDesc(ids[i])
		if s.PMID != ids[i] || codes[i] == 0 && s.Len() != len(ExpectedInsts(d.InDom, nil)) {
			c.T.Errorf("%v was replied to with %v of %d values", ids[i], s.PMID, s.Len())
		}
		for inst, a := range s.All(d.Type) {
			if !a.Equal(ExpectedAtom(s.PMID, inst)) {
				c.T.Errorf("%v instance %d: %v", s.PMID, inst, a)
			}
		}
	}
	return codes
}

// Describe returns a short description of a PDU: an error's text, the values of a result, or all
// fields.
func Describe(p pdu.PDU) string {
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

// ReplyLimit is how long a test waits for a reply that should arrive at once.
const ReplyLimit = 30 * time.Second

// PutHeader writes the header of a PDU that fills b.
func PutHeader(b []byte, k pdu.Kind) []byte {
	for i, w := range []int{len(b), int(k), 1} {
		b[4*i], b[4*i+1], b[4*i+2], b[4*i+3] = byte(w>>24), byte(w>>16), byte(w>>8), byte(w)
	}
	return b
}
